import {squared as features} from '../../helpers/twins/feature-builders.js'
import {type GoldenCase, guardOfNote, textField} from '../cases.js'
import {checkAttention, checkDecoder, type Request} from '../check.js'
import type {Family} from './family.js'

/** Squared entries, not rectified. */
export const squaredRelu: Family = {
  name: 'squared entries',
  methods: ['slim performer sqr'],
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden)
    checkAttention(golden, arrays, request)
    if (golden.causal === true) checkDecoder(golden, arrays, request, features)
  },
}

function requestOf(golden: GoldenCase): Request {
  const denGuard = guardOfNote(textField(golden, 'denom_note'))
  return {method: 'squared-relu', preset: 'google-slim', options: {denGuard}}
}
