import {verdictOf} from '../../answers/index.js'
import {smregRatio, smregRatioBound} from '../../theory/sphere.js'
import type {Judgement, TestedClaim} from '../claim.js'

const DIMS = [16, 64, 256, 1024, 4096]
const STEPS = 400

/** Two families of pairs: |x + y|^2 bounded for every D, or only the logit bounded. */
const FAMILIES = [
  {name: 'unit vectors', most: () => 4},
  {name: 'orthogonal vectors with entries of unit size', most: (dim: number) => 2 * Math.sqrt(dim)},
]

/** Smallest SMREG / SM over pairs of |x + y|^2 up to `most`, and the largest. */
function extremes(dim: number, most: number): {least: number; largest: number} {
  let [least, largest] = [1, 1]
  for (let step = 1; step <= STEPS; step++) {
    const ratio = smregRatio(dim, (most * step) / STEPS)
    least = Math.min(least, ratio)
    largest = Math.max(largest, ratio)
  }
  return {least, largest}
}

function judge(): Judgement {
  const rows = FAMILIES.flatMap(({name, most}) =>
    DIMS.map(dim => ({name, dim, bound: smregRatioBound(dim), ...extremes(dim, most(dim))})),
  )
  return {
    quantities: rows.map(({name, dim, least, bound}) => ({
      name: `smallest SMREG / SM, ${name}, D = ${dim}`,
      value: least,
      expected: bound,
    })),
    tests: [],
    decide() {
      const fails = rows.filter(({least, bound}) => least < bound)
      const bad = new Set(fails.map(({name}) => name))
      const good = FAMILIES.map(({name}) => name).filter(name => !bad.has(name))
      const above = rows.some(({largest}) => largest > 1)
      const worst = fails.at(-1)
      const short = worst
        ? `falls to ${worst.least.toFixed(2)} of SM, bound ${worst.bound.toFixed(2)}; that is with ${worst.name}, D = ${worst.dim}; `
        : ''
      return {
        verdict: above
          ? 'refuted'
          : verdictOf(FAMILIES.map(({name}) => (bad.has(name) ? 'no' : 'yes'))),
        statement: `${above ? 'a ratio above 1; ' : ''}${short}${above ? '' : 'never above SM; '}above the bound for ${good.join(' and ') || 'neither family'}`,
        explanation:
          'Both kernels are the mean of exp(w.z), z = x + y; vectors w of fixed length sqrt(D) lack the long ones, which carry the tail: the Bessel series is below that of exp(|z|^2 / 2) term by term. For large D the logarithm of the ratio is about -|z|^4 / 4D. It goes to zero where |z| is bounded, and to -1 where |z|^2 = 2 sqrt(D), as for orthogonal queries and keys with entries of unit size. Their logit is 0, so bounding logits is not enough: norms must be bounded.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H14',
  sentence:
    'The regularised kernel SMREG is a lower bound of the softmax kernel, and close to it in high dimension',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, theorem 1',
  paper: 'SMREG <= SM, and their ratio at least 1 - 2 D^(-1/3) + o(D^(-1/3)) for bounded logits',
  ours: 'the exact ratio by its Bessel series, for norms that are bounded and for norms that grow while the logit is 0',
  statistic:
    'smallest and largest ratio of each family at D = 16 to 4096, against 1 and the bound without its o-term',
  rule: 'refuted if a ratio is above 1 or both families fall below the bound; depends if one does; there is no chance in it',
  plans: () => ({}),
  judge,
} satisfies TestedClaim
