/** The recurrent form gives what the causal form gives, and its state is its own. */
import {tf} from '../../tf.js'
import {compute, SMALL, toTensors} from '../calls/arrays.js'
import {type Call, hostCall} from '../calls/call.js'
import {decodeAll, decodeCall, decoderOfCall, recurrentOptions, token} from '../calls/decode.js'
import {callName, callOf, placeOf, square} from '../calls/forms.js'
import {boundedOutput} from '../calls/output-bound.js'
import {mapInputs} from '../calls/parts.js'
import {addBounds} from '../calls/rounding.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'
import {changeOf} from './laws.js'

const NO_DECODER = 'declares no recurrent form (supports.decode)'
const ADVICE =
  'decoder, and phi of a single token: it sees neither the other tokens nor their number, and the state must start empty'

/** Tokens that a decoder is given: few, and more than a chunk of the causal form. */
const LENGTHS = [3, 11, 67] as const

/** Token by token gives the rows of the causal call. */
function decoding(subject: Subject): Finding {
  if (!subject.estimator.supports.decode) return notApplicable(NO_DECODER)
  const tally = new Tally(ADVICE)
  for (const length of LENGTHS) {
    for (const scale of length === 11 ? [undefined, 0.23] : [undefined]) {
      compareDecoded(tally, recurrentCall(subject, length, scale === undefined ? {} : {scale}))
    }
  }
  compareDecoded(tally, growing(recurrentCall(subject, 11)), 'norms that grow')
  return tally.finding()
}

/** A causal call that a decoder can follow. */
export function recurrentCall(subject: Subject, length: number, rest: Partial<Call> = {}): Call {
  const sizes = square({...SMALL, batch: length > 20 ? 1 : 2}, length)
  const options = {...recurrentOptions(subject.method, length), ...rest.options}
  return callOf(subject, sizes, {...rest, causal: true, options})
}

/** The same with keys that grow along the sequence, so that running maxima rise at every step. */
function growing(given: Call): Call {
  const {keyLen, headDim} = given.sizes
  const growth = (at: number) => 1 + (Math.floor(at / headDim) % keyLen) / 6
  const inputs = mapInputs(hostCall(given).inputs, (array, name) =>
    name === 'key' ? {...array, data: array.data.map((x, at) => x * growth(at))} : array,
  )
  return {...given, inputs}
}

/** Compares the decoder with the causal form: both may be off by their bound. */
export function compareDecoded(tally: Tally, given: Call, note = ''): void {
  const {out, bound} = boundedOutput(given)
  const decoded = decodeCall(given)
  tally.compare({
    label: `${callName(given)}${note && `, ${note}`}`,
    actual: decoded,
    expected: out,
    bound: addBounds(bound, bound),
    says: at =>
      `the decoder gives ${placeOf(at, given.sizes)} another value than the causal form, off by ${changeOf(out, decoded, at)}`,
  })
}

/** Two decoders in turn do not see each other, and a new one starts where the first did. */
function separateStates(subject: Subject): Finding {
  if (!subject.estimator.supports.decode) return notApplicable(NO_DECODER)
  const tally = new Tally('the state: make it in decoder, for each decoder anew, not in the module')
  const given = recurrentCall(subject, 7)
  const alone = decodeCall(given)
  const label = callName(given)
  const {keyLen, valueDim} = given.sizes
  const [first, second] = [decoderOfCall(given), decoderOfCall(given)]
  const both = compute(() => {
    const [query, key, value] = toTensors(hostCall(given).inputs)
    const rows = Array.from({length: keyLen}, (_, t) => {
      const step = [token(query, t), token(key, t), token(value, t)] as const
      const out = first.next(...step)
      const other = keyLen - 1 - t // in another order
      second.next(token(query, other), token(key, other), token(value, other))
      return out
    })
    return tf.concat(rows, 2)
  })
  first.dispose()
  second.dispose()
  const says = (what: string, out: Float32Array) => (at: number) =>
    `${what} changed token ${Math.floor(at / valueDim) % keyLen} by ${changeOf(alone, out, at)}`
  const again = decodeCall(given)
  tally.compare({
    label,
    actual: again,
    expected: alone,
    bound: 0,
    says: says('an earlier decoder', again),
  })
  tally.compare({
    label: `${label}, two in turn`,
    actual: both,
    expected: alone,
    bound: 0,
    says: says('a second decoder at the same time', both),
  })
  return tally.finding('to the bit')
}

/** Each step frees what it made but its output, and `dispose` the rest. */
function decoderMemory(subject: Subject): Finding {
  if (!subject.estimator.supports.decode) return notApplicable(NO_DECODER)
  const tally = new Tally(
    'tf.keep: what a step keeps it must free at the next one, and dispose at the end',
  )
  const given = recurrentCall(subject, 7)
  const before = tf.memory().numTensors
  const step = decoderOfCall(given)
  const opened = tf.memory().numTensors
  decodeAll(step, hostCall(given).inputs)
  const after = tf.memory().numTensors
  step.dispose()
  const left = tf.memory().numTensors
  const label = callName(given)
  tally.expect(label, after <= opened, () => `${after - opened} tensors more after 7 tokens`)
  tally.expect(label, left === before, () => `${left - before} tensors left after dispose`)
  return tally.finding(`${opened - before} tensors held`)
}

export const RECURRENCE: readonly Check[] = [
  {name: 'decoder equals causal', group: 'laws', run: decoding},
  {name: 'decoders are separate', group: 'laws', run: separateStates},
  {name: 'memory of a decoder', group: 'laws', run: decoderMemory},
]
