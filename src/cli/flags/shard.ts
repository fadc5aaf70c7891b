/** `--shard`: which part of a plan is run. */
import * as Flags from '@oclif/core/flags'
import {describe, expected} from '../../errors.js'
import {MOST_SHARDS, type Shard, shardText} from '../../results/folder/shard.js'

/** What stands for the part that Slurm's variables say. */
const OF_SLURM = 'slurm'

const FORM = `I/N, part I of N with N up to ${MOST_SHARDS}, or ${OF_SLURM}`

/** `--shard` of every command that runs a plan. */
export const shardFlag = Flags.custom<Shard>({
  helpValue: 'I/N',
  parse: async (text, _context, {name}) => parseShard(text, `--${name}`, process.env),
})

/**
 * Reads `3/8`, or the variables of a task of a Slurm array.
 *
 * @param env - where those stand
 * @throws {USAGE}
 */
export function parseShard(text: string, where: string, env: NodeJS.ProcessEnv): Shard {
  if (text.trim() === OF_SLURM) return shardOfSlurm(`${where} ${OF_SLURM}`, env)
  const [, first = '', second = ''] = /^\s*(\d{1,9})\s*\/\s*(\d{1,9})\s*$/.exec(text) ?? []
  const [index, count] = [Number(first), Number(second)]
  if (first === '' || count < 1 || count > MOST_SHARDS) {
    throw expected('USAGE', where, FORM, describe(text), 'as in --shard 1/8, the first of eight')
  }
  if (index < 1 || index > count) {
    const remedy = `parts are counted from 1: --shard 1/${count} to ${count}/${count}`
    throw expected('USAGE', where, `a part from 1 to ${count}`, String(index), remedy)
  }
  return {index, count}
}

/** The shard of a task in an array with even steps; other arrays cannot be divided. @throws {USAGE} */
function shardOfSlurm(where: string, env: NodeJS.ProcessEnv): Shard {
  const read = (name: string, otherwise?: number) => {
    const text = env[`SLURM_ARRAY_TASK_${name}`] ?? ''
    if (/^\d{1,9}$/.test(text)) return Number(text)
    if (text === '' && otherwise !== undefined) return otherwise
    const got = text === '' ? 'none' : describe(text)
    const remedies = ['run it as a task of sbatch --array', 'name the part: --shard 1/8']
    throw expected('USAGE', where, `a number in SLURM_ARRAY_TASK_${name}`, got, ...remedies)
  }
  const [id, count, least] = [read('ID'), read('COUNT'), read('MIN')]
  const [most, step] = [read('MAX', least + count - 1), read('STEP', 1)]
  const even = step > 0 && most - least === (count - 1) * step && (id - least) % step === 0
  const index = (id - least) / step + 1
  if (even && index >= 1 && index <= count && count <= MOST_SHARDS) return {index, count}
  const got = `task ${id} of ${count} from ${least} to ${most}`
  const remedy = 'name the part: --shard "$SLURM_ARRAY_TASK_ID/8"'
  const what = `an array of at most ${MOST_SHARDS} tasks in even steps`
  throw expected('USAGE', where, what, got, remedy)
}

/** A command line that means the same outside of Slurm. */
export function withShard(argv: readonly string[], shard: Shard | undefined): string[] {
  if (!shard) return [...argv]
  return argv.map((word, at) => {
    if (word === `--shard=${OF_SLURM}`) return `--shard=${shardText(shard)}`
    return word === OF_SLURM && argv[at - 1] === '--shard' ? shardText(shard) : word
  })
}
