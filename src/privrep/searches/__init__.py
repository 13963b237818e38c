"""The smallest number of users at which a method reaches a target."""
