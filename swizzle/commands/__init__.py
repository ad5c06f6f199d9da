"""The commands: functions of (arguments, stdout, stderr) that return an exit status.

Answers go to stdout, progress and complaints to stderr. A mistake of the user is a SwizzleError; `process.py` prints
it.
"""
