/** ListOps: nested operations on lists of digits. */
import {z} from 'zod'
import {expected} from '../errors.js'
import {type RandomStream, randomStream} from '../random/index.js'
import {defineTask, FIELDS} from './kind.js'
import {type Task, unlabelled} from './task.js'

const {positive, length} = FIELDS

/** An expression has at most `L - 1` tokens, as the place after it asks for its value; the fewest arguments are two. */
const schema = z.object({
  name: z.literal('listops').describe('The value of nested operations on digits.'),
  length,
  shortest: positive.describe('Expressions have more tokens than that.'),
  depth: positive.describe('Nested operations, digits counted as one.'),
  args: positive.describe('Most arguments of an operation.'),
})
type ListOpsOptions = Omit<z.infer<typeof schema>, 'name'>

/** Depth and arguments of expressions as Long Range Arena has them, and the shortest as a share of L. */
const EXPRESSIONS = {depth: 10, args: 10, shortest: 0.25}
const MODEL = {layers: 2, width: 64, heads: 2, mlp: 128, convolution: 0, positions: true}

export default defineTask({
  schema,
  purpose: 'the value of nested operations',
  settings: [],
  defaults: {
    standard: {length: 64, steps: 600, batch: 32, heldOut: 512, model: MODEL},
    quick: {length: 32, steps: 60, batch: 16, heldOut: 128, model: MODEL},
  },
  score: 'accuracy',
  plan({length}) {
    const shortest = Math.max(1, Math.floor(EXPRESSIONS.shortest * length))
    return [{name: 'listops' as const, length, ...EXPRESSIONS, shortest}]
  },
  make: listOps,
  title: ([task]) => `ListOps, ${task!.shortest + 1} to ${task!.length - 1} tokens`,
})

/** What an operation makes of its arguments: `[MIN`, `[MAX`, `[MED` (rounded down) and `[SM`, the sum modulo 10. */
const OPERATIONS: readonly ((values: readonly number[]) => number)[] = [
  values => Math.min(...values),
  values => Math.max(...values),
  values => Math.floor((ranked(values, Math.floor) + ranked(values, Math.ceil)) / 2),
  values => values.reduce((sum, value) => sum + value, 0) % DIGITS,
]
/** The value in the middle. @param rounded - which of two, where their number is even */
function ranked(values: readonly number[], rounded: (place: number) => number): number {
  return values.toSorted((a, b) => a - b)[rounded((values.length - 1) / 2)]!
}

const DIGITS = 10
/** Probability that an argument is an operation. */
const NESTED = 0.25
/** Tokens: 0 fills up, digits from 1, then operations, the closing bracket, and what asks for the value. */
const FIRST_OPERATION = 1 + DIGITS
const CLOSE = FIRST_OPERATION + OPERATIONS.length
const ASK = CLOSE + 1
/** Expressions that are drawn before none of the wanted length is expected any more. */
const MOST_TRIES = 100_000

/**
 * ListOps: an expression such as `[MAX 4 [MIN 2 7 ] 0 ]`, then a place where its value is to be predicted, a digit.
 *
 * An argument is an operation with probability 1/4 above the greatest depth, else a digit; an operation has from 2 to `args` arguments,
 * all numbers equally likely, and so are operations and digits. Expressions of other lengths than wanted are drawn again.
 *
 * Source: Nangia & Bowman 2018, arXiv:1804.06028, by the generator of Long Range Arena, Tay et al. 2021, arXiv:2011.04006 (lengths from 500 to
 * 2000 there, depth 10, 10 arguments). There a whole sequence is classified; here the place behind it sees the past.
 *
 * @throws {BAD_OPTION} for lengths that no expression has, or that one has too rarely
 */
export function listOps(options: ListOpsOptions, seed: number): Task {
  const {length, shortest, depth, args} = options
  if (args < 2 || depth < 2) {
    const got = `depth ${depth}, args ${args}`
    throw expected('BAD_OPTION', 'listops', 'a `depth` and `args` of at least 2', got, 'take 10')
  }
  if (length < shortest + 2 || length < 6) {
    const what = `a \`length\` of at least ${Math.max(6, shortest + 2)}`
    throw expected('BAD_OPTION', 'listops', what, String(length))
  }
  return {
    vocabulary: ASK + 1,
    length,
    plateau: null,
    examples: ({part, count, run, step = 0}) => {
      const stream = randomStream(seed, `task.listops.${part}`, run, step)
      const examples = unlabelled(count, length)
      for (let row = 0; row < count; row++) {
        const {tokens, value} = expression(stream, options)
        examples.tokens.set([...tokens, ASK], row * length)
        examples.labels[row * length + tokens.length] = 1 + value
      }
      return examples
    },
  }
}

interface Expression {
  tokens: number[]
  value: number
}

/** One of the wanted length. */
function expression(stream: RandomStream, options: ListOpsOptions): Expression {
  const {length, shortest} = options
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const tokens: number[] = []
    const value = append(tokens, stream, options, 1)
    if (tokens.length > shortest && tokens.length < length) return {tokens, value}
  }
  const what = `expressions of ${shortest + 1} to ${length - 1} tokens, which are drawn too rarely`
  throw expected('BAD_OPTION', 'listops', what, 'none', 'raise `depth` or lower `shortest`')
}

/** Writes an argument behind the tokens. @returns its value; of no use where tokens are too many already */
function append(
  tokens: number[],
  stream: RandomStream,
  options: ListOpsOptions,
  level: number,
): number {
  const {length, depth, args} = options
  if (level >= depth || stream.uniform() >= NESTED) {
    const digit = stream.integer(DIGITS)
    tokens.push(1 + digit)
    return digit
  }
  const count = 2 + stream.integer(args - 1)
  const operation = stream.integer(OPERATIONS.length)
  tokens.push(FIRST_OPERATION + operation)
  const values: number[] = []
  while (values.length < count && tokens.length < length) {
    values.push(append(tokens, stream, options, level + 1))
  }
  tokens.push(CLOSE)
  return OPERATIONS[operation]!(values)
}
