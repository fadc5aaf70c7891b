import {createRequire} from 'node:module'
import {defineConfig} from 'vitest/config'

// a guard against hanging, no judge of speed: a loaded machine takes ten times as long as a free one, and slow runs
// draw 16 times as much
const PATIENCE = 10 * 60_000 * (process.env.RFA_SLOW ? 16 : 1)

/**
 * Files that replace modules, add estimators, look at a library whose backend nobody has chosen yet, count bytes of tensors, or make
 * tensors of sizes that are no numbers, after which nobody can count bytes.
 */
const ALONE = [
  'test/fuzz/mutated.test.ts',
  'test/native/kernel-calls.test.ts',
  'test/unit/index.test.ts',
  'test/unit/attention/registering/register.test.ts',
  'test/unit/check/index.test.ts',
  'test/unit/experiments/bench/fields/peers.test.ts',
  'test/unit/experiments/bench/measure/memory.test.ts',
  'test/unit/free-memory.test.ts',
  'test/unit/results/folder/run-directory.test.ts',
]

/** Files that start programs and workers, `npm run test:processes`: half the time of all others together. */
const PROCESSES = [
  'test/cli/{bench-shapes,plugins,program,report-figures}.test.ts',
  'test/faults/no-process-left.test.ts',
  'test/fuzz/runs.test.ts',
  'test/project/{gradients,install,node-version,pack-python,python-environment}.test.ts',
  'test/project/{setup-tensorflow,tarball,tensorflow,your-estimator}.test.ts',
  'test/unit/experiments.test.ts',
  'test/unit/experiments/bench/measure/{breakdown,forward}.test.ts',
  'test/unit/experiments/bench/measure/peers/peer-cell.test.ts',
  'test/unit/plugins/load.test.ts',
  'test/unit/runner/**/*.test.ts',
  'test/unit/tf.test.ts',
]

/**
 * Suites that only compute. A timer cannot end what never waits: it would only fail, when they are done, those that a
 * loaded machine made slow.
 */
const COMPUTED = ['statistical', 'property', 'conformance', 'golden', 'unit/attention'].map(
  folder => `test/${folder}/**/*.test.ts`,
)

/** The matcher of reference values. */
const MATCHERS = 'test/helpers/reference-values.ts'

// one process for many files: loading tfjs and the backends anew would take a third of the time
const SHARED = {isolate: false, setupFiles: ['test/setup.ts', MATCHERS]}

/** Suites take the backends that run: a run says once which cases are not there. */
function tellAbsent(): void {
  try {
    createRequire(import.meta.url).resolve('@tensorflow/tfjs-node')
  } catch {
    const remedy = 'npm run setup:tensorflow'
    process.stderr.write(`tensorflow is not set up, its cases are skipped: ${remedy}\n`)
  }
}
tellAbsent()

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: '100%', // Vitest leaves a processor to itself, which on two is half of them
    disableConsoleIntercept: true,
    experimental: {fsModuleCache: true}, // compiling tests and sources takes a fifth of a run
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
    unstubEnvs: true,
    env: {npm_command: '', npm_lifecycle_event: ''}, // what is printed depends on them
    projects: [
      {
        extends: true,
        test: {name: 'alone', include: ALONE, setupFiles: MATCHERS},
      },
      {
        extends: true,
        test: {
          ...SHARED,
          name: 'computed',
          include: COMPUTED,
          exclude: [...ALONE, ...PROCESSES],
          testTimeout: 0,
          hookTimeout: 0,
        },
      },
      {
        extends: true,
        test: {
          ...SHARED,
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...ALONE, ...COMPUTED, ...PROCESSES],
        },
      },
      {
        extends: true,
        test: {...SHARED, name: 'processes', include: PROCESSES},
      },
    ],
  },
})
