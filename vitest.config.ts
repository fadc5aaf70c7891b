import {defineConfig} from 'vitest/config'

// a guard against hanging, no judge of speed: a loaded machine takes ten times as long as a free one, and slow runs
// draw 16 times as much
const PATIENCE = 5 * 60_000 * (process.env.RFA_SLOW ? 16 : 1)

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: '100%', // Vitest leaves a processor to itself, which on two is half of them
    disableConsoleIntercept: true,
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
  },
})
