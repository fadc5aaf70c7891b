/** Flags of `rfa claims`. */
import * as Flags from '@oclif/core/flags'
import {FIGURE_IDS} from '../../claims/figures/index.js'
import {oneName, oneNumber, oneText, toggle} from '../flags/kinds.js'
import {COUNT, THREADS} from '../flags/ranges.js'
import {detailsFlag} from '../flags/shared.js'

const figureName = oneName('figures', FIGURE_IDS)

export const claimsFlags = {
  figure: figureName({
    description: `figure of a paper instead of claims: ${FIGURE_IDS.join(', ')}`,
  }),
  quick: toggle('fewer draws and shorter times: about a minute for all claims'),
  'with-training': Flags.boolean({
    default: false,
    exclusive: ['quick', 'figure'],
    description:
      'judge claims about trained models, too, on small ones that are trained from scratch: about 20 minutes more for all of them',
  }),
  explain: Flags.boolean({
    default: false,
    exclusive: ['quick', 'seed', 'threads', 'output', 'resume', 'details'],
    description:
      'print setting, statistic and rule of each claim, or the setting of the figure, and run nothing',
  }),
  strict: Flags.boolean({
    default: false,
    exclusive: ['explain', 'figure'],
    description:
      'exit code 1 if a verdict differs from the reference run, 5 if a claim settled there is inconclusive here, or if none could be judged (default: 0 whatever the verdicts)',
  }),
  seed: oneNumber(COUNT)({description: 'seed of every random draw (default: 0)'}),
  threads: oneNumber(THREADS)({
    description: 'threads in all, where times are not taken (default: one per processor)',
  }),
  output: oneText({
    char: 'o',
    helpValue: 'DIR',
    description:
      'folder of the runs and of claims.json (default: results/claims-<date>-<time>, or <figure>-…)',
  }),
  resume: toggle(
    'continue the runs in --output: finished cells are kept, and claims that have a verdict there are judged with the others',
  ),
  details: detailsFlag(),
}
