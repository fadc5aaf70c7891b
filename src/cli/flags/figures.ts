/** Flags of `rfa report` for papers. */
import * as Flags from '@oclif/core/flags'
import {FEATURE_AXES} from '../../report/figures/figure.js'
import {eitherWay, oneText} from './kinds.js'

/** Where figures and LaTeX go, and what figures show. */
export const figureFlags = {
  svg: oneText({
    helpValue: 'DIR',
    description:
      'folder for the figures as SVG, for papers: fonts in them, as wide as a page and as a column',
  }),
  pdf: oneText({helpValue: 'DIR', description: 'the same as PDF, for LaTeX; texts stay texts'}),
  png: oneText({helpValue: 'DIR', description: 'the same as PNG; Markdown shows them'}),
  tex: oneText({
    helpValue: 'DIR',
    description: 'folder for the tables as LaTeX (booktabs), a file for each',
  }),
  x: Flags.option({options: FEATURE_AXES})({
    description:
      'what figures draw errors over: M, the number of random vectors, or F, the length of the feature vector (default: M)',
  }),
  plot: eitherWay('draw the most telling figure of each run in the terminal'),
}
