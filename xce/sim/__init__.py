"""The simulator: the controller's own step, scheduler, barrier and tables on a virtual clock."""
