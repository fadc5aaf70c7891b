/** The next character of a text. */
import {z} from 'zod'
import {expected} from '../errors.js'
import {randomStream} from '../random/index.js'
import {defineTask, FIELDS} from './kind.js'
import {type Examples, type Task, type TaskPart, unlabelled} from './task.js'

const schema = z.object({
  name: z.literal('chars').describe('The next character of a text.'),
  length: FIELDS.length,
  texts: z
    .object({
      path: z.string().describe('File of texts, or folder of .txt files.'),
      digest: z.string().describe('SHA-256 of its bytes: a run is not resumed with another one.'),
    })
    .describe('What characters are from.'),
})

const MODEL = {layers: 2, width: 64, heads: 2, mlp: 128, convolution: 0, positions: true}

export default defineTask({
  schema,
  purpose: 'the next character of a text',
  settings: ['texts'],
  defaults: {
    standard: {length: 128, steps: 300, batch: 16, heldOut: 256, model: MODEL},
    quick: {length: 64, steps: 60, batch: 16, heldOut: 64, model: MODEL},
  },
  score: 'bits',
  plan: ({length, typed: {texts}}) => [{name: 'chars' as const, length, texts: texts!}],
  make: ({length}, seed, text) => characters({text, length}, seed),
  title: ([task]) => `characters, ${task!.length} at a time`,
})

/** Everything that determines the task, save the seed. */
interface CharactersOptions {
  text: string
  /** L */
  length: number
}

/** Shares of the text, from its beginning. */
const SHARES: Readonly<Record<TaskPart, readonly [from: number, to: number]>> = {
  train: [0, 0.9],
  validation: [0.9, 0.95],
  test: [0.95, 1],
}

/**
 * Characters: at every place of a window of a text, the character that follows is to be predicted.
 *
 * Tokens are the characters of the text in the order of their code points. The first 90 % of the text are for training, the next
 * 5 % for validation, the last 5 % for testing. Windows for training begin at uniform random places; those for validation and
 * testing follow each other without overlap, evenly spread over their part, and are the same in every run.
 *
 * @throws {BAD_OPTION} for a text with a part that is shorter than a window
 */
export function characters({text, length}: CharactersOptions, seed: number): Task {
  const {codes, vocabulary} = codesOf(text)
  const partOf = (part: TaskPart) => {
    const [from, to] = SHARES[part].map(share => Math.floor(share * codes.length))
    return codes.subarray(from, to)
  }
  checkText(partOf('test').length, length, codes.length)
  return {
    vocabulary,
    length,
    plateau: null,
    examples: ({part, count, run, step = 0}) => {
      const own = partOf(part)
      if (part !== 'train') return windowsAt(own, spread(own.length, length, count), length)
      const stream = randomStream(seed, 'task.characters', run, step)
      const starts = Array.from({length: count}, () => stream.integer(own.length - length))
      return windowsAt(own, starts, length)
    },
  }
}

/** Characters as tokens. */
function codesOf(text: string): {codes: Int32Array; vocabulary: number} {
  const known = [...new Set(text)].sort((a, b) => a.codePointAt(0)! - b.codePointAt(0)!)
  const tokens = new Map(known.map((character, at) => [character, at]))
  const codes = new Int32Array(text.length)
  let size = 0 // a character outside of the first plane is two units of the string
  for (const character of text) codes[size++] = tokens.get(character)!
  return {codes: codes.subarray(0, size), vocabulary: known.length}
}

/** Starts of windows that do not overlap, evenly spread; a window takes one character more than its length. */
function spread(size: number, length: number, count: number): number[] {
  const windows = Math.min(count, Math.floor((size - 1) / length))
  const step = (size - 1) / windows
  return Array.from({length: windows}, (_, at) => Math.floor(at * step))
}

function windowsAt(codes: Int32Array, starts: readonly number[], length: number): Examples {
  const examples = unlabelled(starts.length, length)
  starts.forEach((start, row) => {
    examples.tokens.set(codes.subarray(start, start + length), row * length)
    examples.labels.set(codes.subarray(start + 1, start + 1 + length), row * length)
  })
  return examples
}

/** @param test - characters of the smallest part */
function checkText(test: number, length: number, size: number): void {
  if (test > length) return
  const what = `at least ${20 * (length + 1)} characters, so that 5 % hold a window of ${length}`
  throw expected('BAD_OPTION', 'chars', what, String(size), 'take a longer text', 'lower `length`')
}
