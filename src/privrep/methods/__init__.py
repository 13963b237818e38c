"""One file per algorithm. A file that can be named in a study has two classes: the method as its paper prints it, with
`fit(users, release)` that yields an iterate after each step, and its options, what a study's file says of it, with
`build(known)`. Nothing has to be registered.
"""
