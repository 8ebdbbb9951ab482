"""`xce demo`: a gang of real processes on an emulated cluster, shown live, in a few seconds."""
