import type {CaseArrays, GoldenCase} from '../cases.js'
import {guardOfNote, numberField, textField} from '../cases.js'
import {checkAttention, type Request} from '../check.js'
import type {Family} from './family.js'

/** Deterministic parameter-free projection; `nu` where the manifest names it, else the peer's usual 2. */
export const dpfp: Family = {
  name: 'deterministic parameter-free projection',
  methods: ['kernelized dpfp'],
  request: requestOf,
  check(golden, arrays) {
    checkAttention(golden, arrays, requestOf(golden, arrays))
  },
}

function requestOf(golden: GoldenCase, arrays: CaseArrays): Request {
  const headDim = arrays.shape('q')[3]!
  const featureDim = numberField(golden, 'm') ?? numberField(golden, 'num_features')
  const nu = numberField(golden, 'nu') ?? (featureDim ? featureDim / (2 * headDim) : 2)
  const denGuard = guardOfNote(textField(golden, 'denom_note'))
  return {method: 'dpfp', preset: 'hku', options: {nu, denGuard}}
}
