import {z} from 'zod'
import {defineEstimator} from '../forms/estimator.js'
import {
  exponentialCost,
  exponentialFacts,
  exponentialForms,
  exponentialOptions,
} from '../forms/exponential/forms.js'
import {matrixExponent} from '../forms/exponential/parameters.js'

/**
 * Symmetric dense exponential features:
 * `phi(x)_s = M^(-1/2) det(I-4A)^(1/4) exp(w_s.A w_s + w_s.(I-4A)^(1/2) x - |x|^2/2)` with the matrix A per
 * head, the best one for the mean of (x+y)(x+y)^T over all pairs.
 *
 * Source: Likhosherstov et al. 2023, arXiv:2302.00787, section 3.2.
 */
const options = z.object(exponentialOptions)

const forms = exponentialForms<z.output<typeof options>>({
  name: 'sderf',
  moments: () => 'full',
  parameters: moments => ({exponent: matrixExponent(moments)}),
})

export default defineEstimator({
  ...exponentialFacts,
  ...forms,
  name: 'sderf',
  title: 'Symmetric dense exponential features',
  citation: 'Likhosherstov et al. 2023, arXiv:2302.00787',
  formula: 'phi(x) = M^(-1/2) det(I-4A)^(1/4) exp(w.A w + w.(I-4A)^(1/2) x - |x|^2/2)',
  advice:
    'Use it when x+y has a few long directions: each gets a separate exponent, while oprf uses one for all. Costs eigenvectors of D x D matrices per head and call.',
  options,
  cost: shape => exponentialCost(shape, 2 + shape.headDim),
})
