"""One file for each algorithm, or a folder with `method.py` where it has steps of its own.

An algorithm that a study can name has two classes: the method as its paper prints it, with `fit(users, release)` that
yields an iterate after each step, and its options, with `build(known)`. Nothing has to be registered.
"""
