/** Flags of `rfa report` for figures. */
import * as Flags from '@oclif/core/flags'
import {FEATURE_AXES} from '../../report/figures/figure.js'
import {eitherWay, oneText} from './kinds.js'

/** Where figures go, and what they show. */
export const figureFlags = {
  svg: oneText({
    helpValue: 'DIR',
    description:
      'folder for the figures as SVG, for papers: fonts in them, as wide as a page and as a column',
  }),
  png: oneText({helpValue: 'DIR', description: 'the same as PNG; Markdown shows them'}),
  x: Flags.option({options: FEATURE_AXES})({
    description:
      'what figures draw errors over: M, the number of random vectors, or F, the length of the feature vector (default: M)',
  }),
  plot: eitherWay('draw the most telling figure of each run in the terminal'),
}
