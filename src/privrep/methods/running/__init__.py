"""The interface of methods and options, and the runner that calibrates noise, checks the budget and scores a fit."""
