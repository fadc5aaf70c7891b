/** What checks of estimators found, as tables. */
import {z} from 'zod'
import {CHECK_GROUPS, CHECK_STATUSES, type CheckOutcome, type CheckStatus} from '../check/index.js'
import {type Block, heading, list, table, text} from './document.js'
import {MISSING, plural, significant} from './numbers.js'
import {listed} from './words.js'

const checkFacts = z.object({
  check: z.string().describe('Its name.'),
  group: z.enum(CHECK_GROUPS).describe('Its kind, as `--only` takes it.'),
  status: z
    .enum(CHECK_STATUSES)
    .describe(
      'How it ended; `not applicable`: a declared fact rules it out; `warning`: it is right and has a limit; `not measurable`: float32, or so few draws, decide too little; `information`: a figure without a verdict.',
    ),
  tried: z.array(z.string()).describe('Forms, shapes and options that were tried.'),
  measured: z
    .number()
    .nullable()
    .describe(
      'The difference that came nearest to its bound; `null`: none was taken, or it is not finite.',
    ),
  bound: z.number().nullable().describe('What it may be; `null`: none was taken.'),
  finding: z
    .string()
    .nullable()
    .describe(
      'The smallest example of a failure or a warning; else why there is no verdict, or what there is to know.',
    ),
  advice: z.string().nullable().describe('Of a failure or a warning: where to look.'),
})

export const checkedSchema = z.object({
  name: z.string().describe('The estimator.'),
  plugin: z.string().nullable().describe('Absolute path of its plug-in; `null`: it is built in.'),
  passed: z.boolean().describe('No check failed.'),
  unchecked: z
    .array(z.string())
    .describe('Checks without a verdict: what they are about is declared and was not checked.'),
  checks: z
    .array(checkFacts)
    .describe('All checks that were asked for, in the order in which they ran.'),
})
export type Checked = z.infer<typeof checkedSchema>

/** The checks of an estimator as plain data. */
export function checkedFacts(
  name: string,
  plugin: string | null,
  outcomes: readonly CheckOutcome[],
): Checked {
  const finite = (value: number | undefined) => (Number.isFinite(value) ? value! : null)
  return {
    ...{name, plugin},
    passed: outcomes.every(({status}) => status !== 'failed'),
    unchecked: outcomes.flatMap(({check, status}) => (status === 'not measurable' ? check : [])),
    checks: outcomes.map(({check, group, status, tried, measured, bound, finding, advice}) => ({
      ...{check, group, status, tried: [...tried]},
      measured: finite(measured),
      bound: finite(bound),
      finding: finding ?? null,
      advice: advice || null,
    })),
  }
}

/** Failures and warnings that the first screen has. */
const MOST_FAULTS = 5
/** What a table of counts calls each status. */
const COUNTED: readonly (readonly [CheckStatus, string])[] = [
  ['passed', 'passed'],
  ['failed', 'failed'],
  ['warning', 'warnings'],
  ['not measurable', 'undecided'],
  ['not applicable', 'skipped'],
]

/** The first screen: how many checks passed, by kinds or by estimators, then what failed and what to do. */
export function checkScreen(estimators: readonly Checked[]): Block[] {
  const several = estimators.length > 1
  const faults = estimators.flatMap(({name, checks}) =>
    checks.filter(isFault).map(check => (several ? `${name}: ` : '') + faultLine(check)),
  )
  const rest = faults.length - MOST_FAULTS
  const all = estimators.flatMap(({checks}) => checks)
  const skipped = all.some(({status}) => status === 'not applicable')
    ? 'skipped: does not apply to what is declared. '
    : ''
  return [
    text(answersOf(estimators).join(' ')),
    several ? countsTable('estimator', estimators) : countsTable('kind', kindsOf(estimators[0]!)),
    ...list([
      ...faults.slice(0, MOST_FAULTS),
      ...(rest > 0 ? [`and ${rest} more, with --details`] : []),
      ...estimators.flatMap(uncheckedLine),
    ]),
    text(`${skipped}Every check with its numbers: --details`),
  ]
}

/** Of several estimators those that pass are named together, last. */
function answersOf(estimators: readonly Checked[]): string[] {
  const settled = (one: Checked) => one.passed && one.unchecked.length === 0 && !lacksMean(one)
  const passing = estimators.filter(settled).map(({name}) => name)
  const others = estimators.filter(one => !settled(one))
  if (passing.length < 2) return estimators.map(answerOf)
  return [...others.map(answerOf), `${listed(passing)} pass all checks that apply.`]
}

/** Checks of the mean of what is estimated: a kernel, or outputs; or that there is nothing to be estimated. */
const MEANS: readonly string[] = ['kernel mean', 'output mean', 'exact output']

/** Whether they were asked for, and nothing is declared that they could check. */
function lacksMean({checks}: Checked): boolean {
  const means = checks.filter(({check}) => MEANS.includes(check))
  return means.length > 0 && means.every(({status}) => status === 'not applicable')
}

/** `elu passes all 33 checks that apply.` */
function answerOf(checked: Checked): string {
  const {name, plugin, checks} = checked
  const count = (...wanted: CheckStatus[]) =>
    checks.filter(({status}) => wanted.includes(status)).length
  const [failed, open, decided] = [
    count('failed'),
    count('not measurable'),
    count('passed', 'failed', 'warning'),
  ]
  const undecided = open > 0 ? `, ${open} undecided` : ''
  if (failed > 0) return `${name} fails ${failed} of ${plural(decided, 'check')}${undecided}.`
  if (lacksMean(checked)) {
    const why = plugin === null ? 'it declares none' : 'state `unbiasedFor`'
    return `${name} passes ${plural(decided, 'check')}${undecided}; its mean was not checked: ${why}.`
  }
  return open > 0
    ? `${name} passes ${plural(decided, 'check')}${undecided}.`
    : `${name} passes ${decided === 1 ? 'the one check that applies' : `all ${decided} checks that apply`}.`
}

function kindsOf({checks}: Checked): {name: string; checks: Checked['checks']}[] {
  const kinds = CHECK_GROUPS.map(name => ({
    name,
    checks: checks.filter(({group}) => group === name),
  }))
  return kinds.filter(kind => kind.checks.length > 0)
}

/** How checks ended, a column for each way that occurs. */
function countsTable(
  title: string,
  rows: readonly {name: string; checks: Checked['checks']}[],
): Block {
  const count = (status: CheckStatus, {checks}: {checks: Checked['checks']}) =>
    checks.filter(check => check.status === status).length
  return table<(typeof rows)[number]>(
    [
      {title, align: 'left', cell: ({name}) => name},
      ...COUNTED.map(([status, name]) => ({
        title: name,
        cell: (row: (typeof rows)[number]) => String(count(status, row)),
        tells: (row: (typeof rows)[number]) => count(status, row) > 0,
      })),
    ],
    rows,
  )
}

/** What is declared and was not decided. */
function uncheckedLine({name, unchecked}: Checked): string[] {
  if (unchecked.length === 0) return []
  return [`${name}: declared, and not decided in the time: ${listed(unchecked)}; try --max-time 60`]
}

/** Everything about one estimator: a table, failures and warnings in full, how many of each kind there are, what was not checked. */
export function checkReport({name, checks, unchecked}: Checked): Block[] {
  const open = unchecked.length > 0 ? ` Declared and not checked: ${unchecked.join(', ')}.` : ''
  return [
    heading(1, `Checks of ${name}`),
    table(
      [
        {title: 'check', align: 'left', cell: ({check}) => check},
        {title: 'result', align: 'left', cell: ({status}) => status},
        {title: 'measured', priority: 2, cell: ({measured}) => significant(measured), sparse: true},
        {title: 'bound', priority: 2, cell: ({bound}) => significant(bound), sparse: true},
        {title: 'finding', flexible: true, priority: 1, cell: findingCell},
        {title: 'tried', flexible: true, priority: 3, cell: triedCell},
      ],
      checks,
    ),
    ...list(checks.filter(isFault).map(faultLine)),
    text(`${name}: ${countsText(checks)}.${open}`),
  ]
}

/** The first case; how many others there are. */
function triedCell({tried}: Checked['checks'][number]): string {
  const [first = MISSING, ...others] = tried
  return others.length > 0 ? `${first}; ${others.length} more` : first
}

function findingCell(check: Checked['checks'][number]): string {
  return isFault(check) ? 'see below' : (check.finding ?? MISSING)
}

/** Whether it has a line below the table. */
function isFault({status}: Checked['checks'][number]): boolean {
  return status === 'failed' || status === 'warning'
}

function faultLine({check, status, finding, advice}: Checked['checks'][number]): string {
  return `${status}, ${check}: ${finding ?? ''}${advice ? `. Look at ${advice}` : ''}`
}

/** `28 passed, 1 failed, 4 not applicable`. */
export function countsText(checks: Checked['checks']): string {
  const counts = CHECK_STATUSES.map(status => ({
    status,
    count: checks.filter(check => check.status === status).length,
  }))
  return counts
    .filter(({count}) => count > 0)
    .map(({status, count}) => `${count} ${status}`)
    .join(', ')
}
