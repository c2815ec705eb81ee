"""Change tracking: what tools changed in people's folders, kept so that it can be put back.

Only records and kept contents are here: plugins look at the folders and put things back (`homed.sdk.tracking`).
"""
