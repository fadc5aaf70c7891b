import type {ExactTarget} from '../types.js'

/** Softmax attention of the given queries and keys. */
export function softmaxTarget(): ExactTarget {
  return {kernel: 'softmax', inputs: 'canonical', inputScale: 1, label: 'softmax'}
}
