/** Flags for pages, papers and figures, of `rfa report` and of commands that run experiments. */
import * as Flags from '@oclif/core/flags'
import {FEATURE_AXES} from '../../report/figures/figure.js'
import {eitherWay, htmlFile, inGroup, markdownFile, oneOption, oneText, present} from './kinds.js'

/** Where figures and LaTeX go, and what figures show. */
export const figureFlags = {
  svg: oneText(
    'folder for the figures as SVG, for papers: fonts in them, as wide as a page and as a column',
    {helpValue: 'DIR'},
  ),
  pdf: oneText('the same as PDF, for LaTeX; texts stay texts', {helpValue: 'DIR'}),
  png: oneText('the same as PNG; Markdown shows them', {helpValue: 'DIR'}),
  tex: oneText(
    'folder for the table of the first screen as LaTeX (booktabs); with --details all tables, a file for each',
    {helpValue: 'DIR'},
  ),
  csv: oneText('the same as CSV, with the texts of the tables', {helpValue: 'DIR'}),
  columns: Flags.custom<string>({
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    helpValue: 'NAME,NAME',
    parse: async (text, _context, {name}) => present(text, `--${name}`),
  })({
    description:
      'only the tables that have these columns, as --details names them, with these columns in this order: printed, and in Markdown, LaTeX and CSV; --html has every table in any case (default: the first screen)',
  }),
  pivot: oneText(
    'the values of this column become columns with the last of --columns in them: --columns "method,projection,M,rel L2" --pivot M',
    {helpValue: 'NAME', dependsOn: ['columns']},
  ),
  x: oneOption(FEATURE_AXES)(
    'what figures draw errors over: M, the number of random vectors, or F, the length of the feature vector (default: M)',
  ),
  plot: eitherWay('draw the most telling figure of each run in the terminal'),
}

/** What a run writes when it has ended, as `rfa report` does later. */
export const reportFlags = inGroup('REPORT', {
  html: htmlFile({description: 'page with figures and every table (.html)'}),
  markdown: markdownFile({description: 'every table as Markdown (.md)'}),
  svg: figureFlags.svg,
  pdf: figureFlags.pdf,
  png: figureFlags.png,
  tex: figureFlags.tex,
  csv: figureFlags.csv,
  columns: figureFlags.columns,
  pivot: figureFlags.pivot,
})
