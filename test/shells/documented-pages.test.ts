/**
 * What the pages of the documentation say to type works when it is typed: the commands of each page in its order, in one
 * folder. Needs the built program.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {documentedCommands, shellLines} from '../helpers/documented-commands.js'
import {temporaryFolder} from '../helpers/folders.js'
import {inShell} from '../helpers/shells.js'
import {
  affordable,
  linkPackage,
  writeInputs,
  writeModel,
  writeProgram,
} from '../helpers/typed-commands.js'
import {documentedEstimator} from './documented-estimator.js'

const root = packageRoot()

/** Pages with files to be written between commands: the test that follows them step by step. */
const FOLLOWED: Readonly<Record<string, string>> = {
  'your-estimator.md': 'test/project/your-estimator.test.ts',
}

/** Commands that are not typed here, and the suites that run them: slow ones, and one that wants Slurm. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  'RFA_SLOW=1 npx vitest run test/statistical/tests-and-intervals.test.ts':
    'test/statistical/tests-and-intervals.test.ts',
  'RFA_SLOW=1 npx vitest run test/statistical/time-intervals.test.ts':
    'test/statistical/time-intervals.test.ts',
  'sh results/array/submit.sh': 'test/slurm/array.test.ts',
  'npx rfa swap --model ./all-MiniLM-L6-v2 --texts texts.txt --tuned tuned.safetensors':
    'test/python/tuned.test.ts',
  'pip install torch transformers': 'test/python/engines.test.ts',
  'npx rfa tune --model ./pythia-70m --texts texts.txt': 'test/python/engines.test.ts',
  'npx rfa swap --model distilled --original ./my-model --tuned distilled.safetensors --texts others.txt':
    'test/python/torch-models.test.ts',
  'npx rfa swap --model ./vit-base --inputs images.npz --methods favor-pos,elu --num-features 64':
    'test/python/engines.test.ts',
  'npx rfa swap --model ./Qwen3-0.6B --texts texts.txt --engine transformers':
    'test/python/engines.test.ts',
  'pip install ./rfa-0.2.0-py3-none-any.whl numpy': 'test/install/python.test.ts',
  'python -m rfa.export --model ./all-MiniLM-L6-v2 --texts texts.txt':
    'test/python/export-folders.test.ts',
}

/** Files of arrays that pages have their readers make. */
const INPUTS = [
  ...['qkv.safetensors', 'mine.safetensors', 'mine.npz', 'out/layer0.safetensors'],
  ...['out/layer3.safetensors', 'gpt2/layers.safetensors', 'llama/layer1.safetensors'],
  ...['out/layers.safetensors', 'layer0.safetensors', 'layer1.safetensors'],
  'all-MiniLM-L6-v2.safetensors',
]

/** Folders of runs that pages speak of, and what made them. */
const SWEEPS = [
  'results/RUN',
  'DIR',
  'results/sweep',
  'results/seed-1',
  'results/base',
  'results/here',
]
const BENCHES = ['results/before', 'results/after']

/** What learning leaves: the page on it makes this. */
const TUNED = ['tuned', 'tuned.safetensors']

const pages = readdirSync(join(root, 'docs')).filter(name => name.endsWith('.md'))
const blocksOf = (page: string) => shellLines(readFileSync(join(root, 'docs', page), 'utf8'))
const commandsOf = (page: string) => {
  const typed = [...blocksOf(page), ...documentedCommands(`docs/${page}`)]
  return [...new Set(typed)].filter(line => !(line in LEFT_OUT))
}

/** Settings that make a run small, where a page does not choose others. */
const FEWEST: Readonly<Record<string, string>> = {
  '--methods': 'elu',
  '--seq-len': '32',
  '--replicates': '2',
  '--min-time': '0.01',
  '--steps': '2',
}
const SMALL: Readonly<Record<string, readonly string[]>> = {
  'error-sweep': ['--methods', '--replicates'],
  bench: ['--methods', '--seq-len', '--min-time'],
  tune: ['--steps'],
  train: ['--steps'],
}

/** The same command made small; a run that a later command reads is made, with the fewest draws. */
function cheap(command: string): string {
  const [, name = ''] = /\brfa (\S+)/.exec(command) ?? []
  const kept = / --output /.test(command) && name in SMALL
  const few = kept ? command.replace(/ --replicates \S+/, '') : affordable(command)
  if (few.includes('--dry-run')) return few
  const flags = (SMALL[name] ?? []).filter(flag => !few.includes(`${flag} `))
  return [few, ...flags.map(flag => `${flag} ${FEWEST[flag]}`)].join(' ')
}

/** Limits may be exceeded, or not be judged, where the machine is busy or draws are few. */
const codesOf = (command: string) => (command.includes('--fail-on') ? [0, 1, 5] : [0])

describe('the pages', () => {
  it('have commands to try', () => {
    expect(pages.flatMap(commandsOf).length).toBeGreaterThan(30)
  })

  it.each(Object.entries(LEFT_OUT))('name %s, which %s runs', (command, suite) => {
    expect(pages.flatMap(blocksOf)).toContain(command)
    expect(existsSync(join(root, suite))).toBe(true)
  })

  it.each(Object.entries(FOLLOWED))('%s is followed by %s', (page, test) => {
    expect(pages).toContain(page)
    expect(readFileSync(join(root, test), 'utf8')).toContain(`'${page}'`)
  })
})

describe('each command of', () => {
  const all = temporaryFolder()
  const before = join(all, 'before')
  let env: NodeJS.ProcessEnv

  beforeAll(async () => {
    mkdirSync(before)
    env = writeProgram(all)
    await writeInputs(before, INPUTS)
    writeModel(before)
    writeFileSync(join(before, 'my-estimator.js'), documentedEstimator())
    linkPackage(before)
    const made = [
      `rfa error-sweep --quick -m favor-pos,rfa -o ${SWEEPS[0]}`,
      `rfa bench --quick -m elu --seq-len 64,128 -o ${BENCHES[0]}`,
      `rfa tune --input qkv.safetensors -m favor-pos --steps 2 -o ${TUNED[1]}`,
    ]
    for (const command of made) {
      const {code, stderr} = await inShell('bash', command, {cwd: before, env})
      expect(code, stderr).toBe(0)
    }
    for (const [from, ...others] of [SWEEPS, BENCHES]) {
      for (const folder of others) {
        cpSync(join(before, from!), join(before, folder), {recursive: true})
      }
    }
  })

  it.concurrent.each(pages.filter(page => !(page in FOLLOWED) && commandsOf(page).length > 0))(
    '%s',
    async page => {
      const folder = join(all, page)
      cpSync(before, folder, {recursive: true})
      if (page === 'tuning.md')
        for (const made of TUNED) rmSync(join(folder, made), {recursive: true})
      for (const command of commandsOf(page)) {
        const {code, stdout, stderr} = await inShell('bash', cheap(command), {cwd: folder, env})
        expect(codesOf(command), `${command}\n${stdout}${stderr}`).toContain(code)
        expect(stderr, command).not.toContain('INTERNAL')
      }
    },
  )
})
