/** Released matrices, told by the peer that made them. */
import type {ProjectionName} from '../../../src/attention/index.js'
import {U} from '../../helpers/rounding.js'
import type {CaseArrays, GoldenCase} from '../cases.js'
import {measure} from '../projections.js'
import {type Reading, textField} from './read.js'

const orthogonal: Reading = {
  methods: [
    'orthogonal projection',
    'orthogonal projection, Householder product',
    'orthogonal projection (as released, wrong for m>d)',
  ],
  request: (golden, arrays) => ({kind: 'projection', projection: nameOf(golden, arrays)}),
}

function nameOf(golden: GoldenCase, arrays: CaseArrays): ProjectionName {
  const peer = textField(golden, 'peer')
  if (golden.method.includes('as released')) return 'orth-tall'
  if (golden.method.includes('Householder')) return 'householder'
  if (peer.includes('xformers')) return 'orth-columns'
  if (peer.includes('fast-transformers')) return 'orth-coupled'
  const [perHead, headDim] = arrays.shape('out').slice(-2) as [number, number]
  const {min_norm, max_norm} = measure(arrays.numbers('out'), headDim, perHead)
  const fixed = max_norm - min_norm <= 2 * headDim * U * max_norm
  return fixed ? 'orth-sqrt-d' : 'orth'
}

const simplexMatrix: Reading = {
  methods: ['SimRF projection (Hadamard product rotation)'],
  request: () => ({kind: 'projection', projection: 'simplex'}),
}

const simplexKernel: Reading = {
  methods: ['SimRFs', 'SimRFs+'],
  request: ({method}) => ({
    kind: 'gaussian-kernel',
    projection: method === 'SimRFs+' ? 'simplex-plus' : 'simplex',
  }),
}

export const PROJECTIONS: readonly Reading[] = [orthogonal, simplexMatrix, simplexKernel]
