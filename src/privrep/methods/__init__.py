"""One file for each algorithm, or a folder with `method.py` for an algorithm with steps of its own.

An algorithm that studies can name has two classes: the method as printed in its paper, whose `fit(users, release)`
yields an iterate after each step, and its options, with `build(known)`. No registration is needed.
"""
