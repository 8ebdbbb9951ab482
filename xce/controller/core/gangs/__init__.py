"""The life of gangs whose members part ways: rules, restarts of some, repairs, growth."""
