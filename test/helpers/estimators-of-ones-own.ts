/** Estimators that are none of the registry's. */
import {attention, type Estimator, EVERY_FORM, z} from '../../src/attention/index.js'

/** Softmax attention under another name, without a recurrent form. */
export function exact(name: string): Estimator {
  return {
    name,
    title: 'softmax once more',
    citation: 'none',
    formula: 'softmax',
    advice: '',
    unbiasedFor: 'exact',
    nonNegative: true,
    rowsSumToOne: true,
    supports: {...EVERY_FORM, decode: false},
    keyOrderMatters: false,
    featureDim: () => 0,
    options: z.object({}),
    inputs: () => 'canonical',
    target: () => ({kernel: 'softmax', inputs: 'canonical', inputScale: 1, label: 'softmax'}),
    cost: () => ({flops: 1}),
    attend: ({query, key, value}) => ({out: attention(query, key, value, {method: 'softmax'})}),
    presets: {},
  }
}
