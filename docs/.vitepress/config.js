import {createRequire} from 'node:module'
import {defineConfig} from 'vitepress'
import {SECTIONS} from './sections.js'

// a CommonJS package, whose default export is nested
const {default: katex} = createRequire(import.meta.url)('@vscode/markdown-it-katex')

export default defineConfig({
  title: 'rfa',
  description: 'Measures what random-feature attention gets wrong and what it costs',
  // the folder of the server that has the pages, if not its root
  base: process.env.RFA_DOCS_BASE ?? '/',
  // no icon, and no request for one
  head: [['link', {rel: 'icon', href: 'data:,'}]],
  srcExclude: ['reference/api/README.md'],
  // a link to nowhere fails the build
  ignoreDeadLinks: false,
  markdown: {
    config: md => md.use(katex, {throwOnError: true, strict: 'error', output: 'htmlAndMathml'}),
  },
  // the index of the search is one file
  vite: {build: {chunkSizeWarningLimit: 2000}},
  themeConfig: {
    search: {provider: 'local'},
    outline: [2, 3],
    sidebar: SECTIONS.map(({text, pages}) => ({
      text,
      items: pages.map(([link, title]) => ({text: title, link: `/${link.replace(/index$/, '')}`})),
    })),
  },
})
