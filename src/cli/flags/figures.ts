/** Flags for pages, papers and figures, of `rfa report` and of commands that run experiments. */
import * as Flags from '@oclif/core/flags'
import {FEATURE_AXES} from '../../report/figures/figure.js'
import {eitherWay, htmlFile, markdownFile, oneText, present} from './kinds.js'

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
    description:
      'folder for the table of the first screen as LaTeX (booktabs); with --details all tables, a file for each',
  }),
  csv: oneText({helpValue: 'DIR', description: 'the same as CSV, with the texts of the tables'}),
  columns: Flags.custom<string>({
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    helpValue: 'NAME,NAME',
    parse: async (text, _context, {name}) => present(text, `--${name}`),
  })({
    description:
      'only the tables that have these columns, as --details names them, with these columns in this order: printed, and in Markdown, LaTeX and CSV (default: the first screen)',
  }),
  pivot: oneText({
    helpValue: 'NAME',
    dependsOn: ['columns'],
    description:
      'the values of this column become columns with the last of --columns in them: --columns method,M,error --pivot M',
  }),
  x: Flags.option({options: FEATURE_AXES})({
    description:
      'what figures draw errors over: M, the number of random vectors, or F, the length of the feature vector (default: M)',
  }),
  plot: eitherWay('draw the most telling figure of each run in the terminal'),
}

const GROUP = {helpGroup: 'REPORT'}

function grouped<F extends object>(flag: F): F {
  return {...flag, ...GROUP}
}

/** What a run writes when it has ended, as `rfa report` does later. */
export const reportFlags = {
  html: htmlFile({...GROUP, description: 'page with figures and every table (.html)'}),
  markdown: markdownFile({...GROUP, description: 'every table as Markdown (.md)'}),
  svg: grouped(figureFlags.svg),
  pdf: grouped(figureFlags.pdf),
  png: grouped(figureFlags.png),
  tex: grouped(figureFlags.tex),
  csv: grouped(figureFlags.csv),
  columns: grouped(figureFlags.columns),
  pivot: grouped(figureFlags.pivot),
}
