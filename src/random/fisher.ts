import type {RandomStream} from './stream.js'

/**
 * Cosine between a unit vector with density proportional to `exp(concentration cosine)` and its mean direction; a uniform one
 * at 0.
 *
 * Source: Wood 1994, "Simulation of the von Mises Fisher distribution", Communications in Statistics 23(1).
 *
 * @param dim - of the vector; on a line, 1, the cosine is a sign
 * @param concentration - at least 0
 */
export function fisherCosine(stream: RandomStream, dim: number, concentration: number): number {
  if (dim === 1) return stream.uniform() * (1 + Math.exp(-2 * concentration)) < 1 ? 1 : -1
  const rest = dim - 1
  // of the envelope, the law of a uniform direction after a projective map
  const b = rest / (2 * concentration + Math.hypot(2 * concentration, rest))
  const at = (1 - b) / (1 + b)
  const most = concentration * at + rest * Math.log(1 - at * at)
  for (;;) {
    const first = stream.normal()
    let squares = 0
    for (let i = 0; i < rest; i++) squares += stream.normal() ** 2
    const half = (1 + first / Math.sqrt(first * first + squares)) / 2
    const cosine = (1 - (1 + b) * half) / (1 - (1 - b) * half)
    const uniform = (stream.uint32() + 0.5) / 2 ** 32
    if (concentration * cosine + rest * Math.log(1 - at * cosine) - most >= Math.log(uniform)) {
      return cosine
    }
  }
}
