"""The cache of answers: a sketch that means the same as one solved before is not searched again.

A cached solution is verified again by the concrete machine before it is reported, so a wrong entry never gives a wrong
kernel. A cached proof is believed only for the same question to the same engine.
"""
