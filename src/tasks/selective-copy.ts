/** Selective copying. */
import {z} from 'zod'
import {expected} from '../errors.js'
import {randomStream} from '../random/index.js'
import {chooseDistinct} from './choose.js'
import {defineTask, FIELDS} from './kind.js'
import {type Task, unlabelled} from './task.js'

const {positive, length} = FIELDS

const schema = z.object({
  name: z.literal('copy').describe('Selective copying.'),
  length,
  vocabulary: positive.describe('V, tokens that there are: noise, data and a marker.'),
  data: positive.describe('Tokens to copy.'),
})
type SelectiveCopyOptions = Omit<z.infer<typeof schema>, 'name'>

const DATA = {standard: 8, quick: 4}
const MODEL = {layers: 2, width: 64, heads: 1, mlp: 0, convolution: 3, positions: false}

export default defineTask({
  schema,
  purpose: 'to copy tokens from noise',
  settings: ['vocabulary', 'data'],
  defaults: {
    standard: {length: 64, steps: 600, batch: 32, heldOut: 512, model: MODEL},
    quick: {length: 32, steps: 200, batch: 16, heldOut: 128, model: MODEL},
  },
  score: 'accuracy',
  plan: ({length, size, typed: {vocabulary = 16, data = DATA[size]}}) => [
    {name: 'copy' as const, length, vocabulary, data},
  ],
  make: selectiveCopy,
  title([task]) {
    const {data, length, vocabulary} = task!
    return `selective copying, ${data} of ${length} tokens, V=${vocabulary}`
  },
})

/**
 * Selective copying: data tokens among noise, then a marker for each; at the markers the data are to be predicted in their order.
 *
 * Token 0 is noise, V - 1 the marker, data are uniform over the others and may repeat. Data stand at different places of
 * the first `L - data`, every set of places equally likely; the last `data` places are markers.
 *
 * Source: Gu & Dao 2023, arXiv:2312.00752, section 4.1, after Arjovsky et al. 2016, arXiv:1511.06464, section 4.
 *
 * @throws {BAD_OPTION} for fewer than four tokens, or more data than half of the sequence
 */
export function selectiveCopy(options: SelectiveCopyOptions, seed: number): Task {
  checkOptions(options)
  const {vocabulary, length, data} = options
  const marker = vocabulary - 1
  return {
    vocabulary,
    length,
    plateau: 1 / (vocabulary - 2),
    examples: ({part, count, run, step = 0}) => {
      const stream = randomStream(seed, `task.copy.${part}`, run, step)
      const examples = unlabelled(count, length)
      for (let row = 0; row < count; row++) {
        const first = row * length
        const answers = first + length - data
        const choice = chooseDistinct(stream, {low: 0, high: length - data, count: data})
        choice
          .sort((a, b) => a - b)
          .forEach((place, at) => {
            const token = 1 + stream.integer(vocabulary - 2)
            examples.tokens[first + place] = token
            examples.tokens[answers + at] = marker
            examples.labels[answers + at] = token
          })
      }
      return examples
    },
  }
}

function checkOptions({vocabulary, length, data}: SelectiveCopyOptions): void {
  if (vocabulary < 4) {
    const what = 'a `vocabulary` of at least 4: noise, two data tokens and a marker'
    throw expected('BAD_OPTION', 'copy', what, String(vocabulary), 'take 16')
  }
  if (2 * data <= length) return
  const what = `at most ${Math.floor(length / 2)} \`data\` tokens in ${length}`
  throw expected('BAD_OPTION', 'copy', what, String(data), `take a \`length\` of ${2 * data}`)
}
