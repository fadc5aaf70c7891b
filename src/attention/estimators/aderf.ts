import {z} from 'zod'
import {defineEstimator} from '../forms/estimator.js'
import {
  exponentialCost,
  exponentialFacts,
  exponentialForms,
  exponentialOptions,
  ridgeOption,
} from '../forms/exponential/forms.js'
import {matrixMaps, meanSum2, scalarExponent} from '../forms/exponential/parameters.js'

/**
 * Asymmetric dense exponential features: optimal positive features of `P x` and `P^-1 y`, which have the
 * product of x and y. Per head, P is the matrix that makes both shortest in the mean.
 *
 * Source: Likhosherstov et al. 2023, arXiv:2302.00787, section 3.3.
 */
const options = z.object({ridge: ridgeOption, ...exponentialOptions})

const forms = exponentialForms<z.output<typeof options>>({
  name: 'aderf',
  moments: () => 'full',
  parameters(moments, {ridge}) {
    const maps = matrixMaps(moments, ridge)
    return {maps, exponent: scalarExponent(meanSum2(moments, maps), moments.mean.query.length)}
  },
})

export default defineEstimator({
  ...exponentialFacts,
  ...forms,
  name: 'aderf',
  title: 'Asymmetric dense exponential features',
  citation: 'Likhosherstov et al. 2023, arXiv:2302.00787',
  formula: 'OPRF features of P x and P^-1 y, P^2 = M_x^-1 # M_y (geometric mean)',
  advice:
    'Use it when queries and keys differ in scale along directions that mix dimensions; saderf is cheaper and often as good. Costs eigenvectors of D x D matrices per head and call.',
  options,
  cost: shape => exponentialCost(shape, 2 + 2 * shape.headDim),
})
