import {readdirSync, readFileSync} from 'node:fs'

/** The pages that have a place of their own: path without `.md`, title. */
const PLACED = [
  {
    text: 'Use',
    pages: [
      ['getting-started', 'Getting started'],
      ['your-model', 'Your model'],
      ['your-estimator', 'Your estimator'],
      ['advice', 'Advice'],
      ['reading-tables', 'Reading the tables'],
      ['clusters', 'Several machines'],
      ['faq', 'Questions'],
    ],
  },
  {
    text: 'Background',
    pages: [
      ['kernel-estimates', 'Kernel estimates'],
      ['attention-outputs', 'From features to attention'],
      ['statistics', 'Statistics'],
      ['claims', 'Claims of the papers'],
    ],
  },
  {
    text: 'Reference',
    pages: [
      ['reference/methods', 'Methods'],
      ['reference/projections', 'Projections'],
      ['reference/records', 'Saved tables'],
      ['reference/schemas', 'Schemas'],
      ['reference/api/rfa/index', 'Library: rfa'],
      ['reference/api/rfa/attention-1', 'Library: rfa/attention'],
      ['reference/api/rfa/theory', 'Library: rfa/theory'],
      ['reference/api/rfa/gradients', 'Library: rfa/gradients'],
    ],
  },
]

const placed = new Set(PLACED.flatMap(({pages}) => pages.map(([path]) => path)))
const folder = new URL('..', import.meta.url)

/** Pages of docs/ that were given no place, by their own titles. */
const others = readdirSync(folder)
  .filter(name => name.endsWith('.md') && name !== 'index.md')
  .map(name => name.slice(0, -'.md'.length))
  .filter(path => !placed.has(path))
  .map(path => [path, titleOf(path)])

/** All pages of the site in their order; those without a place end the first section. */
export const SECTIONS = PLACED.map((section, index) =>
  index > 0 ? section : {...section, pages: [...section.pages, ...others]},
)

function titleOf(path) {
  const [, title] = /^# (.*)$/m.exec(readFileSync(new URL(`${path}.md`, folder), 'utf8')) ?? []
  return title ?? path
}
