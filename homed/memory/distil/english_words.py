"""Words that the English rules know: occupations, and what is neither place nor employer.  Data."""

from __future__ import annotations

_JOBS = """
accountant actor actress analyst animator anthropologist archaeologist architect artist astronomer attorney baker banker
barber barista bartender biologist bookkeeper builder bus_driver butcher carpenter cashier chef chemist chiropractor
civil_servant cleaner clerk coach composer consultant cook copywriter dancer data_scientist dentist designer detective
developer dietitian diplomat director doctor driver economist editor electrician engineer entrepreneur farmer
firefighter fisherman flight_attendant florist freelancer gardener geologist graphic_designer guide hairdresser
historian housekeeper illustrator interpreter investor janitor journalist judge lawyer lecturer librarian machinist
manager marketer mathematician mechanic midwife miner musician nanny nurse nutritionist optician painter paralegal
paramedic pastor pharmacist philosopher photographer physician physicist physiotherapist pianist pilot plumber
police_officer policeman politician postdoc priest principal producer professor programmer project_manager psychiatrist
psychologist realtor receptionist recruiter researcher sailor salesperson scientist secretary singer social_worker
software_engineer soldier statistician student surgeon tailor taxi_driver teacher technician therapist tour_guide
translator tutor vet veterinarian violinist waiter waitress web_developer welder writer
"""
JOBS = frozenset(job.replace("_", " ") for job in _JOBS.split())

_NO_PLACE_WORDS = """
linux windows mac macos ubuntu debian fedora arch python rust go java javascript typescript kotlin swift kubernetes
docker postgres postgresql mysql sqlite redis neovim vim emacs vscode firefox chrome safari gmail outlook slack
discord teams telegram signal github gitlab jira notion obsidian aws azure gcp react vue angular svelte django flask
android ios iphone monday tuesday wednesday thursday friday saturday sunday plan chapter version part step option
excel word powerpoint photoshop figma blender unity fear hope peace
"""
NO_PLACES = frozenset(_NO_PLACE_WORDS.split())
"""What people move to as well: "I moved to Linux"."""

NO_COMPANY = NO_PLACES | {
    "fun",
    "night",
    "nights",
    "weekends",
    "pleasure",
    "peanuts",
    "free",
    "me",
    "myself",
    "money",
}
