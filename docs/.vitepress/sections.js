import {commandPages} from '../../scripts/docs/commands.js'

/** All pages of the site in their order: path without `.md`, title. */
export const SECTIONS = [
  {
    text: 'Start',
    pages: [
      ['getting-started', 'Getting started'],
      ['faq', 'Questions'],
      ['reading-tables', 'Reading the tables'],
    ],
  },
  {
    text: 'Your own',
    pages: [
      ['your-model', 'Your model'],
      ['tuned', 'Learned parameters'],
      ['inputs', 'Inputs'],
      ['your-estimator', 'Your feature map'],
      ['python', 'Python'],
      ['library', 'Library'],
    ],
  },
  {
    text: 'Measure and decide',
    pages: [
      ['benchmarks', 'Timing attention'],
      ['advice', 'Advice'],
      ['tuning', 'Learning from a layer'],
      ['training', 'Training from scratch'],
      ['compare', 'Comparing runs'],
      ['ci', 'Continuous integration'],
      ['claims', 'Claims of the papers'],
      ['performance', 'Performance'],
    ],
  },
  {
    text: 'Run',
    pages: [
      ['runs', 'Runs'],
      ['clusters', 'Several machines'],
      ['backends', 'Backends and installation'],
    ],
  },
  {
    text: 'Background',
    pages: [
      ['kernel-estimates', 'Kernel estimates'],
      ['attention-outputs', 'From features to attention'],
      ['statistics', 'Statistics'],
      ['decisions', 'Decisions'],
    ],
  },
  {text: 'Commands', pages: commandPages()},
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
