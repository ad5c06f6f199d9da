"""The cache of answers: a sketch that means the same as one solved before is not searched again.

A cached solution is verified again by the concrete machine before it is reported, so that a wrong entry never gives a
wrong kernel; a cached proof is believed for the identical question to the identical engine only.
"""
