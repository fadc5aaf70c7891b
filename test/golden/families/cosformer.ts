import {type GoldenCase, guardOfNote, numberField, textField} from '../cases.js'
import {checkAttention, type Request} from '../check.js'
import type {Family} from './family.js'

/** Rectified features with a cosine over distance; `eps` is what is added to each. */
export const cosformer: Family = {
  name: 'cosFormer',
  methods: ['kernelized relu-only cosformer reweighting'],
  request: requestOf,
  check(golden, arrays) {
    checkAttention(golden, arrays, requestOf(golden))
  },
}

function requestOf(golden: GoldenCase): Request {
  const featureEpsilon = numberField(golden, 'eps')
  const note = textField(golden, 'denom_note')
  return {
    method: 'cosformer',
    preset: 'hku',
    options: {
      ...(featureEpsilon !== undefined && {featureEpsilon}),
      ...(note !== '' && {denGuard: guardOfNote(note)}),
    },
  }
}
