"""A delivery day from morning to evening."""

# %% The map
from wayfarer.addresses import Directory, shortened
from wayfarer.figures import Draws, Running, histogram, line_through, quantile
from wayfarer.geometry import NearestPoints, Point, area, convex_hull, distance
from wayfarer.loading import Parcel, Stock, best_load, fill_vans
from wayfarer.roads import RoadNetwork, cheapest_links, round_trip, tour_length
from wayfarer.tariff import price
from wayfarer.timetable import Calendar, Job, Window, best_jobs, clock, minutes

draws = Draws(7)
places = {}
for number in range(12):
    places[f"Stop {number:02}"] = Point(draws.below(100), draws.below(100))
places["Depot"] = Point(50, 50)

network = RoadNetwork()
for name, point in places.items():
    others = sorted(places, key=lambda other: distance(point, places[other]))
    for other in others[1:4]:
        network.add_road(name, other, round(distance(point, places[other])))

hull = convex_hull(places.values())
print(f"{len(network.places())} places, {len(network.roads())} roads, area {area(hull):.0f}")

# %% Who can be reached
reached = network.reachable("Depot")
lost = [place for place in network.places() if place not in reached]
if lost:
    print(f"out of reach: {', '.join(lost)}")
else:
    print("every place can be reached")

links, total = cheapest_links(network)
longest = max(links, key=lambda link: link[2])
print(f"cables along {total} km of road, the longest {longest[0]} to {longest[1]}")

# %% Orders come in
orders = []
for number in range(30):
    stop = f"Stop {draws.below(12):02}"
    weight = 1 + draws.below(9)
    value = 5 + draws.below(40)
    orders.append((stop, Parcel(f"P{number:02}", weight, value)))

weights = Running()
for _, parcel in orders:
    weights.add(parcel.weight)
print(f"{weights.count} parcels, {weights.mean:.2f} kg each, spread {weights.spread():.2f}")

by_stop = {}
for stop, parcel in orders:
    by_stop.setdefault(stop, []).append(parcel)
for stop in sorted(by_stop):
    names = " ".join(parcel.name for parcel in by_stop[stop])
    print(f"  {stop}: {names}")

# %% Stock
stock = Stock({"box": 20, "tape": 3})
stock.receive("label", 25)
missing = stock.reserve({"box": 18, "label": 30})
if missing:
    for article, count in sorted(missing.items()):
        print(f"{count} {article} short")
    stock.receive("label", missing["label"])
    missing = stock.reserve({"box": 18, "label": 30})
stock.ship("box", 10)
print("low:", ", ".join(stock.low(5)))

# %% Vans
vans = fill_vans([parcel for _, parcel in orders], 40)
for number, van in enumerate(vans, start=1):
    load = sum(parcel.weight for parcel in van)
    print(f"van {number}: {len(van)} parcels, {load} kg")
express, worth = best_load([parcel for _, parcel in orders], 25)
print(f"express: {len(express)} parcels worth {worth}")

# %% The tour
lengths = network.all_distances()
stops = sorted(by_stop)


def leg(one, other):
    return lengths[one, other]


tour = round_trip("Depot", stops, leg)
straight = tour_length(["Depot", *stops, "Depot"], leg)
for line in shortened(" > ".join(tour), 60):
    print(line)
print(f"{tour_length(tour, leg)} km instead of {straight}")

# %% What it costs
formula = "4.5 + 0.35*km + (weight > 20)*6 + min(pieces, 5)*0.5"
income = []
for stop in stops:
    parcels = by_stop[stop]
    weight = sum(parcel.weight for parcel in parcels)
    cost = price(formula, km=lengths["Depot", stop], weight=weight, pieces=len(parcels))
    income.append(cost)
print(f"income {sum(income):.2f}, half of the stops above {quantile(income, 0.5):.2f}")
slope, height = line_through([(lengths["Depot", stop], cost) for stop, cost in zip(stops, income)])
print(f"{slope:.3f} per km from {height:.2f}")
for start, count in histogram(income, 10):
    print(f"  {start:>3}: {'#' * count}")

# %% The ramp
ramp = Calendar()
turned_away = 0
moment = minutes("6:00")
for number in range(len(vans) * 2):
    start = moment + draws.below(90)
    if not ramp.book(Window(start, start + 30), f"van {number % len(vans) + 1}"):
        turned_away += 1
free = ramp.first_free(45, Window(minutes("6:00"), minutes("9:00")))
print(f"{turned_away} turned away; free at {clock(free.start) if free else 'no time'}")

# %% Drivers
jobs = []
for stop in stops:
    start = minutes("8:00") + 15 * draws.below(20)
    length = 30 + lengths["Depot", stop]
    jobs.append(Job(stop, start, start + length, round(10 + length / 4)))
chosen, pay = best_jobs(jobs)
for job in chosen:
    print(f"  {clock(job.start)} to {clock(job.end)} {job.name}")
print(f"one driver earns {pay}")

# %% A call in the evening
directory = Directory(["Mill Street 1", "Mill Street 12", "Hill Street 1", "Station Road 4"])
asked = "Mil Str. 12"
print(directory.meant(asked), "|", ", ".join(directory.beginning("mill")))
caller = Point(31, 64)
nearest, away = NearestPoints(places.values()).nearest(caller)
near = next(name for name, point in places.items() if point == nearest)
print(f"the caller is {away:.1f} km from {near}")
