/** Selective copying. */
import {expected} from '../errors.js'
import {randomStream} from '../random/index.js'
import {chooseDistinct} from './choose.js'
import {type Task, unlabelled} from './task.js'

/** Everything that determines the task, save the seed. */
export interface SelectiveCopyOptions {
  /** V: noise, data and the marker. */
  vocabulary: number
  /** L */
  length: number
  /** Tokens to copy. */
  data: number
}

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
