/** Flags of `rfa claims`. */
import {FIGURE_IDS} from '../../claims/figures/index.js'
import {oneName, oneNumber, oneText, toggle} from '../flags/kinds.js'
import {COUNT, THREADS} from '../flags/ranges.js'
import {detailsFlag} from '../flags/shared.js'

export const claimsFlags = {
  figure: oneName({figures: FIGURE_IDS})(
    `figure of a paper instead of claims: ${FIGURE_IDS.join(', ')}`,
  ),
  quick: toggle('fewer draws, shorter times: about three minutes for all on two processors'),
  'with-training': toggle(
    'judge claims about trained models, too, on small ones that are trained from scratch: about 20 minutes more for all of them on two processors',
    {exclusive: ['quick', 'figure']},
  ),
  explain: toggle(
    'print setting, statistic and rule of each claim, or the setting of the figure, and run nothing',
    {exclusive: ['quick', 'seed', 'threads', 'output', 'resume', 'details']},
  ),
  strict: toggle(
    'exit code 1 if a verdict differs from the reference run, 5 if a claim settled there is inconclusive here, or if none could be judged (default: 0 whatever the verdicts)',
    {exclusive: ['explain', 'figure']},
  ),
  seed: oneNumber(COUNT)('seed of every random draw (default: 0)'),
  threads: oneNumber(THREADS)(
    'threads in all, where times are not taken (default: one per processor)',
  ),
  output: oneText(
    'folder of the runs and of claims.json (default: results/claims-<date>-<time>, or <figure>-…)',
    {char: 'o', helpValue: 'DIR'},
  ),
  resume: toggle(
    'continue the runs in --output: finished cells are kept, and claims that have a verdict there are judged with the others',
  ),
  details: detailsFlag,
}
