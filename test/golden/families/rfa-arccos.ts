import estimator from '../../../src/attention/estimators/rfa-arccos.js'
import {deviated} from '../../../src/attention/forms/unit-features.js'
import {namedTensors} from '../../helpers/arrays.js'
import {arcCosine} from '../../helpers/twins/unit-features.js'
import {type CaseArrays, type GoldenCase, guardOfNote, numberField, textField} from '../cases.js'
import {checkAttention, checkDecoder, checkFeatures, type Request, resolved} from '../check.js'
import type {Family} from './family.js'
import {learnedDeviation, NO_DRAW} from './rfa.js'

/** Rectified features of unit vectors. */
export const rfaArccos: Family = {
  name: 'random feature attention, arc-cosine kernel',
  methods: ['RFA arccos'],
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden, arrays)
    checkAttention(golden, arrays, request)
    const options = resolved(request) as Parameters<typeof estimator.target>[0]
    checkFeatures(golden, arrays, request, arcCosine, (x, projection, side) => {
      const rows = deviated(projection, namedTensors(request.parameters ?? {}))
      return estimator.kernel!.features(x, rows, options, {side, ...NO_DRAW})
    })
    if (golden.causal === true) checkDecoder(golden, arrays, request, arcCosine)
  },
}

/** The epsilon on features where only the words on scaling tell it: `phi = relu(Wx') d^-1/2 + 1e-5`. */
function noteEpsilon(note: string): number {
  const added = /phi = .*\+\s*(\d[\d.]*(?:e[+-]?\d+)?)/i.exec(note)
  if (!added) throw new Error(`no epsilon on features can be read from the note "${note}"`)
  return Number(added[1])
}

function requestOf(golden: GoldenCase, arrays: CaseArrays): Request {
  const note = textField(golden, 'denom_note')
  const denGuard = note === '' ? 'none' : guardOfNote(note)
  const featureEpsilon = numberField(golden, 'eps') ?? noteEpsilon(textField(golden, 'scaling'))
  // this peer's factor on features is D^-1/2, not M^-1/2: it sets what the epsilon weighs
  const featureScale = arrays.shape('q')[3]! ** -0.5
  const options = {featureScale, featureEpsilon, denGuard}
  return {method: 'rfa-arccos', options, parameters: learnedDeviation(arrays)}
}
