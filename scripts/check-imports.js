#!/usr/bin/env node
// Holds the directions of imports: floors, doors, no circles, and packages that load late. Imports of types count like
// others but for the last. Run by `npm run lint`.
import {existsSync, readdirSync, readFileSync} from 'node:fs'
import {dirname, join, relative} from 'node:path'
import {fileURLToPath} from 'node:url'
import ts from 'typescript'

/**
 * Floors, lowest first: what stands on one imports what stands below, and nothing of its neighbours on the same one.
 * A folder ends in a slash.
 */
const FLOORS = [
  [
    ...['src/causal-view.ts', 'src/errors.ts', 'src/host-loops.ts', 'src/package.ts'],
    ...['src/python-path.ts', 'src/shell-words.ts', 'src/tf.ts'],
  ],
  ['src/files.ts'],
  ['src/free-memory.ts', 'src/random/'],
  ['src/theory/', 'src/stats/', 'src/tasks/'],
  ['src/answers/'],
  ['src/attention/types.ts', 'src/attention/host-data.ts', 'src/attention/registered.ts'],
  ['src/attention/check-tensor.ts', 'src/attention/reference.ts'],
  ['src/attention/kernels/', 'src/attention/projections/', 'src/attention/exact.ts'],
  ['src/attention/forms/'],
  ['src/attention/estimators/'],
  ['src/attention/resolve.ts', 'src/attention/call-checks.ts', 'src/attention/checked-decoder.ts'],
  ['src/attention/causal-align.ts'],
  ['src/attention/present-tokens.ts'],
  ['src/attention/finite-output.ts'],
  ['src/attention/footprint/', 'src/attention/attention.ts'],
  ['src/attention/registering/'],
  [
    'src/attention/index.ts',
    'src/attention/names.ts',
    'src/attention/internal.ts',
    'src/attention/fused-kernels.ts',
    'src/inputs/',
  ],
  ['src/backends/', 'src/plugins/', 'src/tuned/'],
  ['src/check/', 'src/results/'],
  ['src/model/'],
  ['src/report/', 'src/index.ts'],
  ['src/experiments/'],
  ['src/advice/', 'src/apply/', 'src/export/', 'src/compare/', 'src/runner/'],
  ['src/claims/'],
  ['src/cli/'],
  ['commands/'],
]

/** Floors within a folder, by the same rule, names from the folder on; a digit of a name may be written `#`. */
const INNER_FLOORS = {
  'src/answers/': [
    ['answer.ts', 'ladder.ts', 'settled.ts'],
    ['intervals.ts', 'draws.ts', 'seeds.ts', 'theory.ts'],
    ['crossed.ts'],
    ['index.ts'],
  ],
  'src/check/': [['types.ts'], ['calls/'], ['draws/'], ['checks/'], ['index.ts']],
  'src/claims/': [
    ['runs.ts'],
    ['claim.ts'],
    ['plans.ts'],
    ['evidence/'],
    ['claims/', 'figures/'],
    ['outcome.ts'],
    ['report/'],
  ],
  'src/claims/claims/': [['h##.ts', 'quoted.ts'], ['index.ts']],
  'src/cli/': [
    ['program/', 'flags/', 'completion/'],
    ['help/'],
    ['plans/'],
    ['run/'],
    ['claims/', 'slurm/', 'advise/', 'describe/'],
    ['report/'],
    ['compare/', 'json-schemas.ts', 'run/experiment-command.ts'],
    ['run/timed-command.ts'],
  ],
  'src/experiments/bench/': [
    ['fields/'],
    ['schema.ts'],
    ['times/', 'cost/'],
    ['measure/'],
    ['grid.ts', 'report/'],
    ['index.ts'],
  ],
  'src/experiments/bench/report/': [
    ['lines/'],
    ['tables/', 'answers.ts', 'comparison.ts'],
    ['figures/', 'report.ts', 'screen.ts'],
  ],
  'src/experiments/error-sweep/': [
    ['curve.ts', 'replicate-metrics.ts'],
    ['schema.ts'],
    ['earlier.ts'],
    ['measure/', 'heavy-lists.ts'],
    ['cost/', 'report/'],
    ['grid.ts'],
    ['index.ts'],
  ],
  'src/experiments/error-sweep/report/': [
    ['errors/', 'groups/'],
    ['sentences/'],
    ['tables/'],
    ['figures/', 'report.ts', 'screen.ts'],
  ],
  'src/experiments/inputs/': [['schema.ts'], ['measure/'], ['grid.ts', 'report/'], ['index.ts']],
  'src/experiments/swap/': [
    ['changed-weights.ts', 'schema.ts', 'least-tokens.ts'],
    ['layers-run.ts'],
    ['measure/'],
    ['cost.ts', 'report/'],
    ['grid.ts'],
    ['index.ts'],
  ],
  'src/experiments/train/': [
    ['schema.ts', 'guards.ts'],
    ['measure/'],
    ['cost.ts', 'report/'],
    ['grid.ts', 'more-runs.ts'],
    ['index.ts'],
  ],
  'src/experiments/tune/': [
    ['schema.ts', 'step-texts.ts'],
    ['measure/'],
    ['grid.ts', 'report/'],
    ['save.ts'],
    ['index.ts'],
  ],
  'src/experiments/variance/': [
    ['schema.ts'],
    ['pair-text.ts', 'sampled-pairs.ts'],
    ['pairs.ts'],
    ['measure/'],
    ['grid.ts', 'report/'],
    ['index.ts'],
  ],
  'src/results/': [
    ['files.ts', 'record.ts', 'setting-name.ts', 'settings.ts'],
    ['keys.ts', 'findings.ts', 'verdict.ts', 'lock/', 'tables/'],
    ['journal/'],
    ['folder/'],
  ],
  'src/runner/': [
    ['schedule/', 'folder/', 'interruption.ts'],
    ['preparation.ts'],
    ['workers/'],
    ['progress.ts'],
    ['run-experiment.ts'],
  ],
}

/** Folders that others enter by these files only; a door may be for some of them. */
const DOORS = [
  {folder: 'src/answers/', doors: [{file: 'src/answers/index.ts'}]},
  {
    folder: 'src/attention/',
    doors: [
      {file: 'src/attention/index.ts'},
      {file: 'src/attention/names.ts'},
      {
        file: 'src/attention/internal.ts',
        users:
          /^src\/(advice|apply|backends|check|claims|experiments|export|model|plugins|runner|tuned)\//,
      },
      {file: 'src/attention/fused-kernels.ts', users: /^src\/backends\//},
    ],
  },
]

/** Packages that are loaded when something of them is used first, and by which file; types of them cost nothing. */
const LOADED_LATE = [{packages: /^@tensorflow\//, by: 'src/tf.ts'}]

/** Known breaches, `from -> to`. One that no longer occurs fails as well, so that none is forgotten. */
const EXCEPTIONS = []

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const problems = importProblems(root, EXCEPTIONS)
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  process.stdout.write(`imports: ${problems.length} problems, ${EXCEPTIONS.length} exceptions\n`)
  process.exitCode = problems.length > 0 ? 1 : 0
}

/**
 * What is wrong with the imports below `src/` and `commands/`, one line each.
 *
 * @param root - the folder that holds them
 * @param exceptions - breaches that are known, `from -> to`
 */
export function importProblems(root, exceptions = []) {
  const graph = readGraph(root)
  const breaches = [
    ...homeless(graph),
    ...floorless(graph),
    ...floorBreaches(graph),
    ...doorBreaches(graph),
    ...circles(graph),
    ...earlyLoads(graph),
  ]
  const occurs = edge => breaches.some(breach => breach.edge === edge)
  return [
    ...breaches.filter(({edge}) => !exceptions.includes(edge)).map(({text}) => text),
    ...exceptions
      .filter(edge => !occurs(edge))
      .map(edge => `the exception '${edge}' no longer occurs: remove it`),
  ]
}

/** Every source file with what it imports: `{to, line, static, lazy}`, paths from the root, packages by name. */
function readGraph(root) {
  const files = ['src', 'commands']
    .filter(folder => existsSync(join(root, folder)))
    .flatMap(folder => sources(root, folder))
  return new Map(files.map(file => [file, importsOf(root, file)]))
}

function sources(root, folder) {
  return readdirSync(join(root, folder), {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

function importsOf(root, file) {
  const text = readFileSync(join(root, file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const found = []
  const visit = node => {
    const specifier = specifierOf(node)
    if (specifier) {
      const {line} = source.getLineAndCharacterOfPosition(node.getStart(source))
      const lazy = ts.isCallExpression(node)
      found.push({to: target(file, specifier.text), line: line + 1, static: isStatic(node), lazy})
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** The module named by an import, an export, a call of import() or a type import('...'). */
function specifierOf(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isImportTypeNode(node)) return node.argument.literal
  const dynamic = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
  return dynamic && ts.isStringLiteralLike(node.arguments[0]) ? node.arguments[0] : undefined
}

/** Whether the module is loaded together with the file: no type, and no call of import(). */
function isStatic(node) {
  if (ts.isExportDeclaration(node)) return !node.isTypeOnly && !onlyTypes(node.exportClause)
  if (!ts.isImportDeclaration(node)) return false
  const clause = node.importClause
  if (!clause) return true
  return !clause.isTypeOnly && (clause.name !== undefined || !onlyTypes(clause.namedBindings))
}

function onlyTypes(bindings) {
  return bindings?.elements?.length > 0 && bindings.elements.every(({isTypeOnly}) => isTypeOnly)
}

/** A source file by its path from the root, anything else by its name. */
function target(file, specifier) {
  if (!specifier.startsWith('.')) return specifier
  return join(dirname(file), specifier).replace(/\.js$/, '.ts')
}

/** A file that a floor names stands there, else it stands where its folder does. */
function place(file, floors) {
  const rooms = floors.flatMap((names, floor) => names.map(room => ({floor, room})))
  const named = rooms.find(({room}) => isNamed(file, room))
  if (named) return {floor: named.floor, room: file}
  return rooms.find(({room}) => room.endsWith('/') && file.startsWith(room))
}

/** Whether a file has a name in which `#` stands for a digit. */
function isNamed(file, name) {
  return name.includes('#') ? file.replaceAll(/\d/g, '#') === name : file === name
}

/** The whole house, and the folders with inner floors. */
function houses() {
  const inner = Object.entries(INNER_FLOORS).map(([folder, floors]) => ({
    folder,
    floors: floors.map(rooms => rooms.map(room => `${folder}${room}`)),
  }))
  return [{folder: '', floors: FLOORS}, ...inner]
}

function homeless(graph) {
  return houses().flatMap(({folder, floors}) => {
    const files = [...graph.keys()].filter(file => file.startsWith(folder) && !place(file, floors))
    return files.map(file => ({edge: '', text: `${file} stands on no floor`}))
  })
}

/** Experiments without inner floors. */
function floorless(graph) {
  const folders = [...graph.keys()].flatMap(
    file => /^src\/experiments\/[^/]+\//.exec(file)?.[0] ?? [],
  )
  return [...new Set(folders)]
    .filter(folder => !Object.hasOwn(INNER_FLOORS, folder))
    .map(folder => ({edge: '', text: `${folder} has no floors in INNER_FLOORS`}))
}

function floorBreaches(graph) {
  return houses().flatMap(({floors}) => breachesOf(graph, floors))
}

function breachesOf(graph, floors) {
  return edges(graph).flatMap(({from, to, line}) => {
    const [own, other] = [place(from, floors), place(to, floors)]
    if (!own || !other || own.room === other.room || own.floor > other.floor) return []
    const relation = own.floor === other.floor ? 'is on the same floor' : 'is on a higher floor'
    return [breach(from, to, line, `${other.room} ${relation}`)]
  })
}

function doorBreaches(graph) {
  return edges(graph).flatMap(({from, to, line}) =>
    DOORS.filter(({folder}) => to.startsWith(folder) && !from.startsWith(folder)).flatMap(
      ({doors}) => {
        const door = doors.find(({file}) => file === to)
        if (door && (door.users?.test(from) ?? true)) return []
        const open = doors.filter(({users}) => users?.test(from) ?? true).map(({file}) => file)
        return [breach(from, to, line, `its doors are ${open.join(', ')}`)]
      },
    ),
  )
}

function breach(from, to, line, why) {
  return {edge: `${from} -> ${to}`, text: `${from}:${line} imports ${to}: ${why}`}
}

function edges(graph) {
  return [...graph].flatMap(([from, imports]) =>
    imports.filter(({to}) => graph.has(to)).map(edge => ({from, ...edge})),
  )
}

/** One shortest way round for every import that leads back to its file, those of `import()` among them. */
function circles(graph) {
  const seen = new Set()
  return edges(graph).flatMap(({from, to, line}) => {
    const back = path(graph, to, from)
    if (!back) return []
    const id = [...back].sort().join()
    if (seen.has(id)) return []
    seen.add(id)
    return [breach(from, to, line, `a circle, ${[from, ...back].join(' -> ')}`)]
  })
}

/** Files from one to another along imports, both included. */
function path(graph, from, to) {
  const cameFrom = new Map([[from, undefined]])
  for (const file of cameFrom.keys()) {
    if (file === to) break
    for (const next of graph.get(file) ?? []) {
      if (!graph.has(next.to) || cameFrom.has(next.to)) continue
      cameFrom.set(next.to, file)
    }
  }
  if (!cameFrom.has(to)) return undefined
  const files = []
  for (let file = to; file !== undefined; file = cameFrom.get(file)) files.unshift(file)
  return files
}

function earlyLoads(graph) {
  return [...graph].flatMap(([file, imports]) =>
    imports
      .filter(({static: loads, lazy}) => loads || lazy)
      .flatMap(({to, line}) => {
        const late = LOADED_LATE.find(({packages, by}) => packages.test(to) && by !== file)
        return late ? [breach(file, to, line, `${late.by} loads it when it is needed`)] : []
      }),
  )
}
