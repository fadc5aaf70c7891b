import type {CaseArrays, GoldenCase} from '../cases.js'
import {checkAttention, type Request} from '../check.js'
import type {Family} from './family.js'

/** Keys and values mixed by matrices E and F, `[S, k]`. */
export const linformer: Family = {
  name: 'linformer',
  methods: ['linformer'],
  request: requestOf,
  check(golden, arrays) {
    checkAttention(golden, arrays, requestOf(golden, arrays))
  },
}

function requestOf(_golden: GoldenCase, arrays: CaseArrays): Request {
  return {
    method: 'linformer',
    numFeatures: arrays.shape('E')[1]!,
    parameters: {
      keyProjection: arrays.array('E'),
      valueProjection: arrays.array(arrays.has('F') ? 'F' : 'E'),
    },
  }
}
