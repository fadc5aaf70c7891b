/** Random feature attention: features of unit vectors. */
import {guardField, numberField, present, type Reading, textField} from './read.js'

const SIGMA = {sigma: 'sigma'}

const rfa: Reading = {
  methods: ['RFA sin/cos', 'RFA sincos'],
  request(golden, arrays) {
    const tau = numberField(golden, 'tau') ?? 1
    const options = {tau, ...guardField(golden, 'denGuard', 'causalDenGuard')}
    const parameters = present(arrays, SIGMA)
    const common = {kind: 'attention', methods: ['rfa'], parameters} as const
    if (golden.method === 'RFA sin/cos') return {...common, preset: 'noahs-ark', options}
    // this peer's factor on features is D^-1/2; it cancels from the output
    return {...common, options: {...options, featureScale: 1 / Math.sqrt(arrays.shape('q')[3]!)}}
  },
}

const rfaArccos: Reading = {
  methods: ['RFA arccos'],
  request(golden, arrays) {
    const featureEpsilon = numberField(golden, 'eps') ?? noteEpsilon(textField(golden, 'scaling'))
    // this peer's factor on features is D^-1/2, not M^-1/2: it sets what the epsilon weighs
    // rounded alike by every engine, which a power need not be
    const featureScale = 1 / Math.sqrt(arrays.shape('q')[3]!)
    return {
      kind: 'attention',
      methods: ['rfa-arccos'],
      options: {featureScale, featureEpsilon, denGuard: 'none', ...guardField(golden, 'denGuard')},
      parameters: present(arrays, SIGMA),
    }
  },
}

/** The epsilon on features where only the words on scaling tell it: `phi = relu(Wx') d^-1/2 + 1e-5`. */
function noteEpsilon(note: string): number {
  const added = /phi = .*\+\s*(\d[\d.]*(?:e[+-]?\d+)?)/i.exec(note)
  if (!added) throw new Error(`no epsilon on features can be read from the note "${note}"`)
  return Number(added[1])
}

const rfaGate: Reading = {
  methods: ['RFA gated sin/cos'],
  request(golden, arrays) {
    const tau = numberField(golden, 'tau') ?? 1
    const guard = {denGuard: 'none', ...guardField(golden, 'denGuard')}
    return {
      kind: 'attention',
      methods: ['rfa-gate'],
      // the constants of the peer's features: its code has no gates
      options: {tau, normEpsilon: 1e-3, featureScale: 0.1, ...guard},
      parameters: present(arrays, SIGMA),
      gate: 'g',
    }
  },
}

export const UNIT: readonly Reading[] = [rfa, rfaArccos, rfaGate]
