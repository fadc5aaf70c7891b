/** Multi-query associative recall. */
import {z} from 'zod'
import {expected} from '../errors.js'
import {type RandomStream, randomStream} from '../random/index.js'
import {chooseDistinct, chooseWeighted} from './choose.js'
import {defineTask, FIELDS} from './kind.js'
import {type Examples, type Task, unlabelled} from './task.js'

const {positive, length} = FIELDS

const schema = z.object({
  name: z.literal('mqar').describe('Multi-query associative recall.'),
  length,
  vocabulary: positive.describe('V, tokens that there are.'),
  pairs: positive.describe('Keys with a value each.'),
  power: z
    .number()
    .positive()
    .describe('a: gaps before the queries have weights (g + 1)^(a - 1); 1: all gaps alike.'),
  filled: z.boolean().describe('Whether places without key and value hold random tokens.'),
})
export type MqarOptions = Omit<z.infer<typeof schema>, 'name'>

/** a of gaps, as Zoology has it. */
const POWER = 0.01
const PAIRS = {standard: [8], quick: [4]}
const VOCABULARY = {standard: 256, quick: 64}
const MODEL = {layers: 1, width: 64, heads: 1, mlp: 0, convolution: 3, positions: false}

export default defineTask({
  schema,
  purpose: 'to recall values by their keys',
  settings: ['pairs', 'vocabulary'],
  defaults: {
    standard: {length: 64, steps: 600, batch: 32, heldOut: 512, model: MODEL},
    quick: {length: 32, steps: 200, batch: 16, heldOut: 128, model: MODEL},
  },
  score: 'accuracy',
  plan({length, size, typed: {vocabulary = VOCABULARY[size], pairs = PAIRS[size]}}) {
    return pairs.map(pairs => ({
      name: 'mqar',
      length,
      vocabulary,
      pairs,
      power: POWER,
      filled: true,
    }))
  },
  make: mqar,
  title(tasks) {
    const {length, vocabulary} = tasks[0]!
    const pairs = tasks.map(task => task.pairs)
    const counted = pairs.length > 1 ? `${pairs.join(', ')} pairs` : pairsText(pairs[0]!)
    return `recall (mqar), ${length} tokens, ${counted}, V=${vocabulary}`
  },
  short: ({pairs}) => pairsText(pairs),
})

function pairsText(pairs: number): string {
  return `${pairs} pair${pairs === 1 ? '' : 's'}`
}

/**
 * Multi-query associative recall: a list of pairs, `key value key value ...`, then every key once more; there its value is to
 * be predicted.
 *
 * Keys are different tokens from 1 to V/2 - 1, values different tokens from V/2 to V - 1. Behind the pairs, key i stands at
 * place `2 pairs + 2 g_i`. The gaps g_i are different numbers from 0 to L/2 - pairs - 1, drawn one after the other with
 * weights `(g + 1)^(a - 1)`. Every other place behind the pairs holds a random token of all V, which may be a key or a value, too.
 *
 * Source: Arora et al. 2023, arXiv:2312.04927, and the generator of their code (`multiquery_ar`, one pass over the pairs).
 *
 * @throws {BAD_OPTION} for an odd length, `4 pairs > L`, or fewer tokens than the sequence has places or the pairs take
 */
export function mqar(options: MqarOptions, seed: number): Task {
  checkOptions(options)
  const {vocabulary, length, pairs, power} = options
  const gaps = length / 2 - pairs
  const weights = Float64Array.from({length: gaps}, (_, gap) => (gap + 1) ** (power - 1))
  return {
    vocabulary,
    length,
    plateau: pairs > 1 ? 1 / pairs : null,
    examples: ({part, count, run, step = 0}) => {
      const stream = randomStream(seed, `task.mqar.${part}`, run, step)
      const examples = unlabelled(count, length)
      for (let row = 0; row < count; row++) fillRow(examples, row, {stream, weights, options})
      return examples
    },
  }
}

interface Drawn {
  stream: RandomStream
  weights: Float64Array
  options: MqarOptions
}

function fillRow({tokens, labels}: Examples, row: number, {stream, weights, options}: Drawn): void {
  const {vocabulary, length, pairs, filled} = options
  const half = Math.floor(vocabulary / 2)
  const own = tokens.subarray(row * length, (row + 1) * length)
  const wanted = labels.subarray(row * length, (row + 1) * length)
  const keys = chooseDistinct(stream, {low: 1, high: half, count: pairs})
  const values = chooseDistinct(stream, {low: half, high: vocabulary, count: pairs})
  const gaps = chooseWeighted(stream, weights, pairs)
  if (filled) for (let at = 2 * pairs; at < length; at++) own[at] = stream.integer(vocabulary)
  keys.forEach((key, pair) => {
    own[2 * pair] = key
    own[2 * pair + 1] = values[pair]!
    const place = 2 * (pairs + gaps[pair]!)
    own[place] = key
    wanted[place] = values[pair]!
  })
}

function checkOptions({vocabulary, length, pairs}: MqarOptions): void {
  const refuse = (what: string, got: number, remedy: string) =>
    expected('BAD_OPTION', 'mqar', what, String(got), remedy)
  if (length % 2 !== 0) throw refuse('an even `length`', length, `take ${length + 1}`)
  if (4 * pairs > length) {
    const remedy = `take a \`length\` of ${4 * pairs}`
    throw refuse(`at most ${Math.floor(length / 4)} \`pairs\` in ${length} tokens`, pairs, remedy)
  }
  if (vocabulary > length) return
  throw refuse(`a \`vocabulary\` above \`length\` ${length}`, vocabulary, `take ${2 * length}`)
}
