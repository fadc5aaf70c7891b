import * as Flags from '@oclif/core/flags'
import {describe, expected} from '../../errors.js'
import {MOST_SHARDS} from '../../results/folder/shard.js'
import {type FlagValues, oneNumber, oneText, present, toggle} from '../flags/kinds.js'
import {type NumberRule, POSITIVE_INTEGER, THREADS} from '../flags/ranges.js'
import {pluginFlag} from '../flags/shared.js'

const SHARDS: NumberRule = {
  what: `an integer from 1 to ${MOST_SHARDS}`,
  integer: true,
  accepts: value => value >= 1 && value <= MOST_SHARDS,
}

/** Text of a form that sbatch takes, without spaces: its lines are read word by word. */
const oneWord = (pattern: RegExp, what: string) =>
  Flags.custom<string>({
    parse: async (text, _context, {name}) => {
      if (pattern.test(present(text, `--${name}`))) return text
      throw expected('USAGE', `--${name}`, what, describe(text))
    },
  })

const sbatchOption = Flags.custom<string>({
  multiple: true,
  multipleNonGreedy: true,
  parse: async (text, _context, {name}) => {
    if (/^--?[a-z][^\n\r]*$/i.test(text)) return text
    const remedy = 'with its dashes, as in --sbatch=--account=physics'
    throw expected('USAGE', `--${name}`, 'one option of sbatch', describe(text), remedy)
  },
})

export const slurmFlags = {
  shards: oneNumber(SHARDS)(
    'parts of the plan, one task of the array each; most clusters allow up to 1000 (MaxArraySize)',
    {char: 'n', required: true},
  ),
  output: oneText(
    'new folder for scripts, logs, shards and the merged run; all nodes must see it (default: results/<command>-<date>-<time>)',
    {char: 'o', helpValue: 'DIR'},
  ),
  cpus: oneNumber(THREADS)(
    'processors of a task, and its threads (default: 1, or the threads of the plan)',
  ),
  mem: oneWord(
    /^\d+[KMGT]?$/i,
    'memory as Slurm writes it: 500M, 4G',
  )({
    helpValue: 'SIZE',
    description: 'memory of a task, as in 4G (default: 1.5 times the prediction, plus 128 MiB)',
  }),
  time: oneWord(
    /^(\d+|\d+:\d\d|(\d+-)?\d+:\d\d:\d\d|\d+-\d+(:\d\d)?)$/,
    'a time as Slurm writes it: 90 (minutes), 01:30:00, 2-12:00:00',
  )({
    helpValue: 'TIME',
    description: 'longest time of a task, as in 01:30:00 (default: the limit of the partition)',
  }),
  partition: oneWord(
    /^[\w.,-]+$/,
    'names of partitions',
  )({helpValue: 'NAME', description: 'partition (default: the default of the cluster)'}),
  'at-once': oneNumber(POSITIVE_INTEGER)('most tasks at once (default: no limit)'),
  sbatch: sbatchOption({
    helpValue: 'OPTION',
    description: 'another sbatch option for both jobs, may be repeated: --sbatch=--account=physics',
  }),
  plugin: pluginFlag('for a plan with its estimators'),
  submit: toggle('submit the jobs, too: the same as sh DIR/submit.sh'),
}
/** What `rfa slurm` was asked for; a missing value was not typed. */
export type SlurmFlags = FlagValues<typeof slurmFlags>
