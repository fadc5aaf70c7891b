import {z} from 'zod'
import {defineEstimator} from '../forms/estimator.js'
import {
  exponentialCost,
  exponentialFacts,
  exponentialForms,
  exponentialOptions,
  ridgeOption,
} from '../forms/exponential/forms.js'
import {diagonalMaps, meanSum2, scalarExponent} from '../forms/exponential/parameters.js'

/**
 * Simplified asymmetric dense exponential features (FAVOR#): optimal positive features of `psi x` and `y /
 * psi`, which have the product of x and y, with `psi_d = (mean y_d^2 / mean x_d^2)^(1/4)` per head.
 *
 * Source: Likhosherstov et al. 2023, arXiv:2302.00787, section 3.4.
 */
const options = z.object({ridge: ridgeOption, ...exponentialOptions})

const forms = exponentialForms<z.output<typeof options>>({
  name: 'saderf',
  moments: () => 'diagonal',
  parameters(moments, {ridge}) {
    const maps = diagonalMaps(moments, ridge)
    return {maps, exponent: scalarExponent(meanSum2(moments, maps), moments.mean.query.length)}
  },
})

export default defineEstimator({
  ...exponentialFacts,
  ...forms,
  name: 'saderf',
  title: 'FAVOR# per-dimension exponential features',
  citation: 'Likhosherstov et al. 2023, arXiv:2302.00787',
  formula: 'OPRF features of psi x and y/psi, psi_d = (E y_d^2 / E x_d^2)^(1/4)',
  advice:
    'Use it when queries and keys have different scales per dimension: for one more pass over the tokens it can beat oprf many times over. Where scales agree it is oprf.',
  options,
  cost: shape => exponentialCost(shape, 4),
})
