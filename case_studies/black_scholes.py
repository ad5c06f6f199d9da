"""European options by Black and Scholes: call and put prices, one option a thread.

The specification and the kernel write the cumulative normal distribution as `erfc`. The functions mean nothing to the
proof, so both must be given the same arguments. `market` has the rate of interest and the volatility. A price below a
cent counts as nothing, which is a choice by data.
"""

from swizzle import cuda, f32, math, parameter, sketch, spec, where

WARPS = parameter("warps", 2, domain=range(1, 33))
N = 32 * WARPS
ROOT_HALF = 0.70710678118654752


@spec
def prices(spot, strike, years, market):
    (rate, volatility), calls, puts = market, [], []
    for s, k, t in zip(spot, strike, years, strict=True):
        deviation = volatility * math.sqrt(t)
        d1 = (math.log(s / k) + (rate + volatility * volatility / 2) * t) / deviation
        d2 = d1 - deviation
        discounted = k * math.exp(-rate * t)
        call = 0.5 * (s * math.erfc(-ROOT_HALF * d1) - discounted * math.erfc(-ROOT_HALF * d2))
        put = call - s + discounted
        calls.append(where(call < 0.01, 0, call))
        puts.append(where(put < 0.01, 0, put))
    return calls, puts


@sketch(
    spec=prices,
    block=32,
    grid=WARPS,
    spot=f32[N],
    strike=f32[N],
    years=f32[N],
    market=f32.const[2],
    calls=f32.out[N],
    puts=f32.out[N],
)
def black_scholes(spot, strike, years, market, calls, puts):
    i = cuda.grid(1)
    s, k, t, rate, volatility = spot[i], strike[i], years[i], market[0], market[1]
    deviation = volatility * math.sqrt(t)
    d1 = (math.log(s / k) + (rate + volatility * volatility / 2) * t) / deviation
    d2 = d1 - deviation
    discounted = k * math.exp(-rate * t)
    call = 0.5 * (s * math.erfc(-ROOT_HALF * d1) - discounted * math.erfc(-ROOT_HALF * d2))
    put = call - s + discounted
    calls[i] = where(call < 0.01, 0, call)
    puts[i] = where(put < 0.01, 0, put)
