from lockbench import main

main()
