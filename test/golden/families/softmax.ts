import {checkAttention} from '../check.js'
import type {Family} from './family.js'

/** Exact attention, materialised and tiled. */
export const softmax: Family = {
  name: 'exact softmax',
  methods: ['softmax'],
  request: () => ({method: 'softmax'}),
  check(golden, arrays) {
    checkAttention(golden, arrays, {method: 'softmax'})
    checkAttention(golden, arrays, {method: 'softmax-online'})
  },
}
