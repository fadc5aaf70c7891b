import type {AppliedArray} from '../../../src/apply/record.js'

/** An output of `rfa apply` as its record tells of it. */
export const APPLIED_ARRAY: AppliedArray = {
  ...{name: 'out', layer: null, shape: [1, 3, 31, 13], feature_dim: 512, logit_scale: 0.25},
  ...{hidden_keys: 0, projection: 'orth', orth_sign: 'haar', used_extras: [], not_finite: 0},
  ...{ill_conditioned: 0, errors: null},
}
