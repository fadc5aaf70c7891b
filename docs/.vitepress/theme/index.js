// The theme as it is, without its web font, and the style of formulas.
import Theme from 'vitepress/theme-without-fonts'
import 'katex/dist/katex.min.css'

export default Theme
